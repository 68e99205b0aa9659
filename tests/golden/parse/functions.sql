-- Scalar functions have one name each, typed arguments and checked constants.
SELECT count(*) AS n FROM trades WHERE len(symbol) > 3 AND char_length(symbol) > 3
----
stream trades
window none
where (3 < length(Symbol))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE substr(symbol, 2) = 'x' AND substring(symbol, 1, 2) = 'y'
----
stream trades
window none
where ((substring(Symbol, 1, 2) = 'y') and (substring(Symbol, 2) = 'x'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE position('a' IN symbol) = 1 AND locate('a', symbol) = 2
----
stream trades
window none
where ((locate('a', Symbol) = 1) and (locate('a', Symbol) = 2))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE ucase(symbol) = 'A' OR upper(symbol) = 'A'
----
stream trades
window none
where (upper(Symbol) = 'A')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE symbol ILIKE 'Ab%'
----
stream trades
window none
where like(lower(Symbol), 'ab%')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE symbol RLIKE '^[a-z]+[0-9]{2,4}$'
----
stream trades
window none
where rlike(Symbol, '^[a-z]+[0-9]{2,4}$')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE regexp_extract(symbol, '([a-z]+)-([0-9]+)', 2) = '7'
----
stream trades
window none
where (regexp_extract(Symbol, '([a-z]+)-([0-9]+)', 2) = '7')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE regexp_replace(symbol, '([a-z])', '<$1>') = 'x'
----
stream trades
window none
where (regexp_replace(Symbol, '([a-z])', '<$1>') = 'x')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE lpad(symbol, 10, ' ') = 'x'
----
stream trades
window none
where (lpad(Symbol, 10, ' ') = 'x')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE repeat('ab', 3) = symbol
----
stream trades
window none
where (Symbol = repeat('ab', 3))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE concat_ws('-', symbol, venue, day) = 'x'
----
stream trades
window none
where (concat_ws('-', Symbol, cast(venue as string), cast(day as string)) = 'x')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE mod(quantity, 10) = 1
----
stream trades
window none
where ((quantity % bigint '10') = bigint '1')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE pmod(quantity, 10) = 1
----
stream trades
window none
where (pmod(quantity, bigint '10') = bigint '1')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE power(rate, 2) > 1 AND log(rate) > 0
----
stream trades
window none
where ((double '0.0' < ln(rate)) and (double '1.0' < pow(rate, double '2.0')))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE ceiling(rate) = 1 AND floor(price) = 1
----
stream trades
window none
where ((floor(price) = decimal(9,0) '1') and (ceil(rate) = bigint '1'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE round(price) = 1 AND round(rate, 2) = 1
----
stream trades
window none
where ((round(rate, 2) = double '1.0') and (round(price, 0) = decimal(9,0) '1'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE year(at) = 2026 AND dayofmonth(day) = 31
----
stream trades
window none
where ((day(day) = 31) and (year(cast(at as date)) = 2026))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE EXTRACT(YEAR FROM at) = 2026
----
stream trades
window none
where (year(cast(at as date)) = 2026)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE trunc(day, 'mon') = DATE '2026-01-01'
----
stream trades
window none
where (trunc(day, 'MONTH') = date '2026-01-01')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE date_format(at, 'yyyy-MM-dd HH:mm') = 'x'
----
stream trades
window none
where (date_format(at, 'yyyy-MM-dd HH:mm') = 'x')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE datediff(at, day) > 1 AND date_add(day, 7) > day
----
stream trades
window none
where ((1 < datediff(cast(at as date), day)) and (day < date_add(day, 7)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE unix_micros(at) > 0 AND unix_timestamp(at) > 0
----
stream trades
window none
where ((bigint '0' < unix_micros(at)) and (bigint '0' < unix_timestamp(at)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE timestamp_seconds(quantity) > at
----
stream trades
window none
where (at < timestamp_seconds(quantity))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE nvl2(rate, 1, 2) = 1 AND ifnull(rate, 0) = 0
----
stream trades
window none
where ((case when is_null(rate) then 2 else 1 end = 1) and (coalesce(rate, double '0.0') = double '0.0'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE hash(symbol, venue) = 5 AND xxhash64(symbol) = 5
----
stream trades
window none
where ((hash(Symbol, venue) = 5) and (xxhash64(Symbol) = bigint '5'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE sha2(symbol, 256) = 'x' AND md5(symbol) = 'y'
----
stream trades
window none
where ((md5(Symbol) = 'y') and (sha2(Symbol, 256) = 'x'))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE try_divide(quantity, venue) > 1 AND try_add(venue, 1) > 1
----
stream trades
window none
where ((1 < try_add(cast(venue as int), 1)) and (double '1.0' < try_divide(cast(quantity as double), cast(venue as double))))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE shiftleft(venue, 2) = 4 AND venue << 2 = 4
----
stream trades
window none
where (shiftleft(cast(venue as int), 2) = 4)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE int(rate) = 1 AND string(venue) = '5' AND to_date(symbol) = day
----
stream trades
window none
where ((cast(venue as string) = '5') and (cast(rate as int) = 1) and (cast(Symbol as date) = day))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE isnan(rate) OR nanvl(rate, 0) > 1
----
stream trades
window none
where ((double '1.0' < nanvl(rate, double '0.0')) or isnan(rate))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE EXTRACT(SECOND FROM at) < 1.5
----
stream trades
window none
where (extract_second(at) < decimal(8,6) '1.500000')
select n = count(*) : bigint
====
SELECT EXTRACT(SECS FROM at) AS s, ceil(CAST(price AS decimal(9,0))) AS c, count(*) AS n FROM trades GROUP BY EXTRACT(SECOND FROM at), price
----
stream trades
window none
group extract_second(at), price
select s = extract_second(at) : decimal(8,6)
select c = ceil(cast(price as decimal(9,0))) : decimal(9,0)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE EXTRACT(MINS FROM at) = 5
----
stream trades
window none
where (minute(at) = 5)
select n = count(*) : bigint
====
SELECT count(DISTINCT price, symbol) AS n FROM trades
----
stream trades
window none
select n = count(distinct price, Symbol) : bigint
====
SELECT count(*) AS n FROM trades WHERE at < TIMESTAMP '2024-01-01 00:00:00 America/New_York'
----
stream trades
window none
where (at < timestamp '2024-01-01T05:00:00+00:00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE at < TIMESTAMP '2024-03-10 02:30:00 America/New_York'
----
stream trades
window none
where (at < timestamp '2024-03-10T07:30:00+00:00')
select n = count(*) : bigint
====
SELECT count(*) AS n FROM trades WHERE at < TIMESTAMP '2024-11-03 01:30:00.5America/New_York'
----
stream trades
window none
where (at < timestamp '2024-11-03T05:30:00.500000+00:00')
select n = count(*) : bigint
