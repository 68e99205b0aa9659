-- Every conversion is written out, as Spark with ANSI rules makes it.
SELECT count(*) AS n FROM trades WHERE venue = 5
----
stream trades
window none
where (venue = smallint '5')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE venue = 500000
----
stream trades
window none
where (cast(venue as int) = 500000)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE quantity = 5
----
stream trades
window none
where (quantity = bigint '5')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE quantity > 2.5
----
stream trades
window none
where (decimal(21,1) '2.5' < cast(quantity as decimal(21,1)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE venue < quantity
----
stream trades
window none
where (cast(venue as bigint) < quantity)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price > 5
----
stream trades
window none
where (decimal(10,2) '5.00' < price)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price >= 1.555
----
stream trades
window none
where (decimal(11,3) '1.555' <= cast(price as decimal(11,3)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price < quantity
----
stream trades
window none
where (cast(price as decimal(22,2)) < cast(quantity as decimal(22,2)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price = rate
----
stream trades
window none
where (cast(price as double) = rate)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE rate > 1
----
stream trades
window none
where (double '1.0' < rate)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE rate > 1.5
----
stream trades
window none
where (double '1.5' < rate)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE weight > 1
----
stream trades
window none
where (double '1.0' < cast(weight as double))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE weight = rate
----
stream trades
window none
where (cast(weight as double) = rate)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE tag + venue > quantity
----
stream trades
window none
where (quantity < cast((cast(tag as smallint) + venue) as bigint))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE quantity / 2 > 1
----
stream trades
window none
where (double '1.0' < (cast(quantity as double) / double '2.0'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE quantity div 2 > 1
----
stream trades
window none
where (bigint '1' < (quantity div bigint '2'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price % 3 = 0
----
stream trades
window none
where ((price % decimal(1,0) '3') = decimal(3,2) '0.00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price * 2 > quantity
----
stream trades
window none
where (cast(quantity as decimal(22,2)) < cast((price * decimal(1,0) '2') as decimal(22,2)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE -price < 0
----
stream trades
window none
where (negate(price) < decimal(10,2) '0.00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE day < at
----
stream trades
window none
where (cast(day as timestamp) < at)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE day = '2026-1-31'
----
stream trades
window none
where (day = date '2026-01-31')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE at >= '2026-01-31'
----
stream trades
window none
where (timestamp '2026-01-31T00:00:00+00:00' <= at)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE at < '2026-01-31T12:00:00.5+02:00'
----
stream trades
window none
where (at < timestamp '2026-01-31T10:00:00.500000+00:00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE at = TIMESTAMP '2026-01-31 12:00:00Z'
----
stream trades
window none
where (at = timestamp '2026-01-31T12:00:00+00:00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE at BETWEEN DATE '2026-01-01' AND '2026-02-01 00:00:00'
----
stream trades
window none
where ((at <= timestamp '2026-02-01T00:00:00+00:00') and (timestamp '2026-01-01T00:00:00+00:00' <= at))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE settled
----
stream trades
window none
where settled
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE settled = TRUE AND NOT (settled = FALSE)
----
stream trades
window none
where settled
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE settled IS TRUE
----
stream trades
window none
where (settled <=> true)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE settled = 'true'
----
stream trades
window none
where settled
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE quantity IN (1, 2.5)
----
stream trades
window none
where in(cast(quantity as decimal(21,1)), decimal(21,1) '1.0', decimal(21,1) '2.5')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE venue IN (1, 2)
----
stream trades
window none
where in(venue, smallint '1', smallint '2')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE rate IN (1, 2)
----
stream trades
window none
where in(rate, double '1.0', double '2.0')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE symbol = 'x' || venue
----
stream trades
window none
where (Symbol = concat('x', cast(venue as string)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE coalesce(price, quantity) > 0
----
stream trades
window none
where (decimal(22,2) '0.00' < coalesce(cast(price as decimal(22,2)), cast(quantity as decimal(22,2))))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE greatest(venue, tag, 3) > 1
----
stream trades
window none
where (1 < greatest(3, cast(tag as int), cast(venue as int)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE CASE WHEN settled THEN price ELSE 0 END > 1
----
stream trades
window none
where (decimal(12,2) '1.00' < case when settled then cast(price as decimal(12,2)) else decimal(12,2) '0.00' end)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE CASE venue WHEN 1 THEN 'a' WHEN 2 THEN 'b' END = 'a'
----
stream trades
window none
where (case when (venue = smallint '1') then 'a' when (venue = smallint '2') then 'b' else null end = 'a')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE CAST(rate AS INT) = 1
----
stream trades
window none
where (cast(rate as int) = 1)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE TRY_CAST(symbol AS INT) = 1
----
stream trades
window none
where (try_cast(Symbol as int) = 1)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE rate::decimal(5,1) = 1.5
----
stream trades
window none
where (cast(rate as decimal(5,1)) = decimal(5,1) '1.5')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE CAST('5' AS BIGINT) = quantity
----
stream trades
window none
where (quantity = bigint '5')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE day + 1 > DATE '2026-01-01'
----
stream trades
window none
where (date '2026-01-01' < date_add(day, 1))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE quantity = -9223372036854775808
----
stream trades
window none
where (quantity = bigint '-9223372036854775808')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE rate = 1e3 OR rate = 'NaN'
----
stream trades
window none
where in(rate, double '1000.0', double 'nan')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE price = 12345678901234567890
----
stream trades
window none
where (cast(price as decimal(22,2)) = decimal(22,2) '12345678901234567890.00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE venue & 1 = 1 AND ~tag = 0
----
stream trades
window none
where (((cast(venue as int) & 1) = 1) and (~(tag) = tinyint '0'))
select n = count(*) : bigint
