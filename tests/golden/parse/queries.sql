-- Whole queries become canonical queries: streams, windows, groups, results, names and types.
SELECT saddr, sum(length) AS bytes FROM packets WHERE proto = 6 GROUP BY window(ts, '10 minutes', '2 minutes'), saddr
----
stream packets
window range 10 minutes slide 2 minutes
group saddr
where (proto = 6)
select saddr = saddr : string
select bytes = sum(length) : bigint
====
SELECT count(*) FROM packets
----
stream packets
window none
select count(1) = count(*) : bigint
====
select COUNT(1), count('x'), count(length) as lengths from PACKETS
----
stream packets
window none
select count(1) = count(*) : bigint
select count(x) = count(*) : bigint
select lengths = count(length) : bigint
====
SELECT window, count(*) FROM packets GROUP BY window(ts, '1 hour')
----
stream packets
window range 1 hour
select window = window : window
select count(1) = count(*) : bigint
====
SELECT window.start, window.end AS until, max(length) FROM packets GROUP BY window(ts, '1 hour')
----
stream packets
window range 1 hour
select start = window.start : timestamp
select until = window.end : timestamp
select max(length) = max(length) : int
====
SELECT window(ts, '60 minutes').start AS began, window(ts, '1 hour'), count(*) FROM packets GROUP BY window(ts, '1 hour')
----
stream packets
window range 1 hour
select began = window.start : timestamp
select window = window : window
select count(1) = count(*) : bigint
====
SELECT window(ts, '10 seconds', '10 seconds', '25 seconds') AS w, count(*) FROM packets GROUP BY w ORDER BY w.start
----
stream packets
window range 10 seconds start 5 seconds
select w = window : window
select count(1) = count(*) : bigint
order window.start asc nulls first
====
SELECT count(*) FROM packets GROUP BY window(ts, INTERVAL 10 MINUTES, INTERVAL '5' MINUTE)
----
stream packets
window range 10 minutes slide 5 minutes
select count(1) = count(*) : bigint
====
SELECT count(*) FROM packets GROUP BY window(ts, '1 hour 30 minutes', '7 minutes', '-1 minute')
----
stream packets
window range 90 minutes slide 7 minutes start 6 minutes
select count(1) = count(*) : bigint
====
SELECT p.saddr, sum(p.length) FROM packets AS p GROUP BY p.saddr
----
stream packets
window none
group saddr
select saddr = saddr : string
select sum(length) = sum(length) : bigint
====
SELECT packets.saddr FROM packets GROUP BY saddr
----
stream packets
window none
group saddr
select saddr = saddr : string
====
SELECT SADDR, Sum(LENGTH) FROM Packets GROUP BY sAddr
----
stream packets
window none
group saddr
select saddr = saddr : string
select sum(LENGTH) = sum(length) : bigint
====
SELECT symbol, SYMBOL AS again FROM trades GROUP BY symbol
----
stream trades
window none
group Symbol
select Symbol = Symbol : string
select again = Symbol : string
====
SELECT saddr, daddr, count(*) FROM packets GROUP BY 1, 2
----
stream packets
window none
group daddr, saddr
select saddr = saddr : string
select daddr = daddr : string
select count(1) = count(*) : bigint
====
SELECT daddr, saddr, count(*) FROM packets GROUP BY saddr, daddr, saddr
----
stream packets
window none
group daddr, saddr
select daddr = daddr : string
select saddr = saddr : string
select count(1) = count(*) : bigint
====
SELECT length % 10 AS bucket, count(*) FROM packets GROUP BY bucket
----
stream packets
window none
group (length % 10)
select bucket = (length % 10) : int
select count(1) = count(*) : bigint
====
SELECT length % 10 + 1, count(*) FROM packets GROUP BY length % 10
----
stream packets
window none
group (length % 10)
select ((length % 10) + 1) = ((length % 10) + 1) : int
select count(1) = count(*) : bigint
====
SELECT CASE WHEN NOT length > 100 THEN 'small' ELSE 'big' END AS size, count(*) FROM packets GROUP BY length > 100
----
stream packets
window none
group (100 < length)
select size = case when not((100 < length)) then 'small' else 'big' end : string
select count(1) = count(*) : bigint
====
SELECT upper(saddr) || '!' AS loud, count(*) FROM packets GROUP BY upper(saddr)
----
stream packets
window none
group upper(saddr)
select loud = concat(upper(saddr), '!') : string
select count(1) = count(*) : bigint
====
SELECT port AS length, max(length) AS longest FROM packets GROUP BY port
----
stream packets
window none
group port
select length = port : int
select longest = max(length) : int
====
SELECT sum(length) / count(*) AS mean, sum(length) * 8 AS bits FROM packets
----
stream packets
window none
select mean = (cast(sum(length) as double) / cast(count(*) as double)) : double
select bits = (sum(length) * bigint '8') : bigint
====
SELECT sum(length) FILTER (WHERE proto = 6) AS tcp, count(*) FILTER (WHERE proto = 17 AND port = 53) FROM packets
----
stream packets
window none
select tcp = sum(length) filter ((proto = 6)) : bigint
select count(1) FILTER (WHERE ((proto = 17) AND (port = 53))) = count(*) filter (((port = 53) and (proto = 17))) : bigint
====
SELECT count_if(length > 100) AS long, count_if(length > 100) FILTER (WHERE proto = 6) AS long_tcp FROM packets
----
stream packets
window none
select long = count(*) filter ((100 < length)) : bigint
select long_tcp = count(*) filter (((100 < length) and (proto = 6))) : bigint
====
SELECT count(DISTINCT saddr), COUNT(DISTINCT length % 10) FROM packets
----
stream packets
window none
select count(DISTINCT saddr) = count(distinct saddr) : bigint
select count(DISTINCT (length % 10)) = count(distinct (length % 10)) : bigint
====
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY length) AS middle, percentile(length, 0.9) FROM packets
----
stream packets
window none
select middle = percentile(cast(length as double), decimal(1,1) '0.5') : double
select percentile(length, 0.9) = percentile(cast(length as double), decimal(1,1) '0.9') : double
====
SELECT first(saddr) AS earliest, median(length) FROM packets
----
stream packets
window none
select earliest = first(saddr) : string
select median(length) = median(cast(length as double)) : double
====
SELECT saddr, sum(length) AS bytes FROM packets GROUP BY saddr HAVING bytes > 1000 AND saddr <> 'me' ORDER BY bytes DESC, saddr LIMIT 10
----
stream packets
window none
group saddr
select saddr = saddr : string
select bytes = sum(length) : bigint
having ((bigint '1000' < sum(length)) and not((saddr = 'me')))
order sum(length) desc nulls last
order saddr asc nulls first
limit 10
====
SELECT saddr, sum(length) AS bytes FROM packets GROUP BY saddr HAVING sum(length) > 1000 ORDER BY 2 DESC NULLS FIRST, max(length) ASC NULLS LAST
----
stream packets
window none
group saddr
select saddr = saddr : string
select bytes = sum(length) : bigint
having (bigint '1000' < sum(length))
order sum(length) desc nulls first
order max(length) asc nulls last
====
SELECT saddr, sum(length) AS length FROM packets GROUP BY saddr ORDER BY length
----
stream packets
window none
group saddr
select saddr = saddr : string
select length = sum(length) : bigint
order sum(length) asc nulls first
====
SELECT saddr, sum(length) AS length FROM packets GROUP BY saddr HAVING max(length) > 5 AND length < 9
----
stream packets
window none
group saddr
select saddr = saddr : string
select length = sum(length) : bigint
having ((5 < max(length)) and (sum(length) < bigint '9'))
====
SELECT saddr FROM packets GROUP BY saddr HAVING TRUE LIMIT 0
----
stream packets
window none
group saddr
select saddr = saddr : string
limit 0
====
SELECT count(*) AS n FROM packets WHERE TRUE
----
stream packets
window none
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets HAVING count(*) > 5
----
stream packets
window none
select n = count(*) : bigint
having (bigint '5' < count(*))
====
SELECT count(*) AS `strange name`, 'text', 5, 1.5, CAST(NULL AS INT), TRUE, DATE '2026-01-31' FROM packets
----
stream packets
window none
select strange name = count(*) : bigint
select text = 'text' : string
select 5 = 5 : int
select 1.5 = decimal(2,1) '1.5' : decimal(2,1)
select NULL = int null : int
select true = true : boolean
select DATE '2026-01-31' = date '2026-01-31' : date
====
SELECT max(price) - min(price) AS spread, sum(price * quantity) AS turnover, avg(price) FROM trades GROUP BY Symbol
----
stream trades
window none
group Symbol
select spread = (max(price) - min(price)) : decimal(11,2)
select turnover = sum((cast(quantity as decimal(20,0)) * price)) : decimal(38,2)
select avg(price) = avg(price) : decimal(14,6)
====
SELECT sum(quantity) + 1.5 AS a, sum(quantity) / 2 AS b, sum(price) / 3 AS c, avg(rate) * 2 AS d FROM trades
----
stream trades
window none
select a = (cast(sum(quantity) as decimal(20,0)) + decimal(2,1) '1.5') : decimal(22,1)
select b = (cast(sum(quantity) as double) / double '2.0') : double
select c = (sum(price) / decimal(1,0) '3') : decimal(24,6)
select d = (avg(rate) * double '2.0') : double
====
SELECT CAST(sum(quantity) AS STRING) AS s, round(avg(price), 2) AS r, coalesce(max(rate), 0) AS m FROM trades
----
stream trades
window none
select s = cast(sum(quantity) as string) : string
select r = round(avg(price), 2) : decimal(11,2)
select m = coalesce(max(rate), double '0.0') : double
====
SELECT day, count(*) FROM trades WHERE day >= '2026-01-01' GROUP BY day, window(at, '1 day')
----
stream trades
window range 1 day
group day
where (date '2026-01-01' <= day)
select day = day : date
select count(1) = count(*) : bigint
====
SELECT date_trunc('hour', at) AS hour, count(*) FROM trades GROUP BY date_trunc('HOUR', at)
----
stream trades
window none
group date_trunc('HOUR', at)
select hour = date_trunc('HOUR', at) : timestamp
select count(1) = count(*) : bigint
====
-- a comment first
SELECT count(*) /* and ; inside */ FROM packets -- and at the end
;
----
stream packets
window none
select count(1) = count(*) : bigint
====
SELECT count(*)
FROM packets
WHERE saddr = 'it''s'
  AND daddr = "a \"quoted\" word"
  AND daddr <> 'back\\slash';
----
stream packets
window none
where ((daddr = 'a "quoted" word') and (saddr = 'it\'s') and not((daddr = 'back\\slash')))
select count(1) = count(*) : bigint
====
SELECT IF(max(length) > 100, 'long', 'short') AS kind, nvl(max(port), 0), nullif(count(*), 0) FROM packets
----
stream packets
window none
select kind = case when (100 < max(length)) then 'long' else 'short' end : string
select nvl(max(port), 0) = coalesce(max(port), 0) : int
select nullif(count(1), 0) = case when (count(*) = bigint '0') then null else count(*) end : bigint
