-- rows as they came: the columns that are read, the event time, and the window beside the stream
SELECT saddr FROM packets
----
stream packets
window unbounded
rows of saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT * FROM packets
----
stream packets
window unbounded
rows of daddr, length, port, proto, saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
select daddr = daddr : string
select proto = proto : int
select port = port : int
select length = length : int
====
SELECT p.* FROM packets p
----
stream packets
window unbounded
rows of daddr, length, port, proto, saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
select daddr = daddr : string
select proto = proto : int
select port = port : int
select length = length : int
====
SELECT *, length * 2 AS twice FROM packets WHERE port = 53
----
stream packets
window unbounded
rows of daddr, length, port, proto, saddr, ts
where (port = 53)
select ts = ts : timestamp
select saddr = saddr : string
select daddr = daddr : string
select proto = proto : int
select port = port : int
select length = length : int
select twice = (length * 2) : int
====
SELECT length + 1 AS x FROM packets WHERE length > 5
----
stream packets
window unbounded
rows of length, ts
where (5 < length)
select ts = ts : timestamp
select x = (length + 1) : int
====
SELECT 1 AS one FROM packets
----
stream packets
window unbounded
rows of ts
select ts = ts : timestamp
select one = 1 : int
====
SELECT ts, saddr FROM packets
----
stream packets
window unbounded
rows of saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT saddr AS ts FROM packets
----
stream packets
window unbounded
rows of saddr, ts
select weft_ts = ts : timestamp
select ts = saddr : string
====
SELECT saddr, length FROM packets [RANGE 10 MINUTES SLIDE 2 MINUTES] WHERE proto = 6 ORDER BY length DESC LIMIT 3
----
stream packets
window range 10 minutes slide 2 minutes
rows of length, saddr, ts
where (proto = 6)
select ts = ts : timestamp
select saddr = saddr : string
select length = length : int
order length desc nulls last
limit 3
====
SELECT saddr, length FROM packets [range 10 minutes slide 2 minutes] AS p WHERE 6 = p.proto ORDER BY 2 DESC LIMIT 3
----
stream packets
window range 10 minutes slide 2 minutes
rows of length, saddr, ts
where (proto = 6)
select ts = ts : timestamp
select saddr = saddr : string
select length = length : int
order length desc nulls last
limit 3
====
SELECT saddr FROM packets [RANGE 1 HOUR]
----
stream packets
window range 1 hour
rows of saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT saddr FROM packets p [UNBOUNDED]
----
stream packets
window unbounded
rows of saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT window.end AS e, saddr FROM packets [RANGE 1 HOUR]
----
stream packets
window range 1 hour
rows of saddr, ts
select ts = ts : timestamp
select e = window.end : timestamp
select saddr = saddr : string
====
SELECT saddr FROM packets WHERE port = 53 BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)
----
stream packets
window from now - 10 seconds to now
rows of saddr, ts
where (port = 53)
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT saddr FROM packets WHERE port = 53 BEGIN (now() - 10 seconds) END (current_timestamp)
----
stream packets
window from now - 10 seconds to now
rows of saddr, ts
where (port = 53)
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT saddr FROM packets BEGIN (NOW - INTERVAL '10' MINUTES) END (NOW - INTERVAL 5 MINUTES)
----
stream packets
window from now - 10 minutes to now - 5 minutes
rows of saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT saddr FROM packets BEGIN (TIMESTAMP '2026-01-01 00:00:00') END (NOW)
----
stream packets
window from 1767225600000000 to now
rows of saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
====
SELECT saddr FROM packets BEGIN ('2026-01-01') END ('2026-01-02 12:00:00') ORDER BY length LIMIT 5
----
stream packets
window from 1767225600000000 to 1767355200000000
rows of length, saddr, ts
select ts = ts : timestamp
select saddr = saddr : string
order length asc nulls first
limit 5
====
SELECT DISTINCT saddr FROM packets
----
stream packets
window none
group saddr
select saddr = saddr : string
====
SELECT saddr FROM packets GROUP BY saddr
----
stream packets
window none
group saddr
select saddr = saddr : string
====
SELECT DISTINCT saddr, upper(daddr) AS d FROM packets [RANGE 1 HOUR] ORDER BY d
----
stream packets
window range 1 hour
group saddr, upper(daddr)
select saddr = saddr : string
select d = upper(daddr) : string
order upper(daddr) asc nulls first
====
SELECT saddr, count(*) AS n FROM packets [RANGE 1 HOUR SLIDE 30 MINUTES] GROUP BY saddr
----
stream packets
window range 1 hour slide 30 minutes
group saddr
select saddr = saddr : string
select n = count(*) : bigint
====
SELECT saddr, count(*) AS n FROM packets GROUP BY window(ts, '1 hour', '30 minutes'), saddr
----
stream packets
window range 1 hour slide 30 minutes
group saddr
select saddr = saddr : string
select n = count(*) : bigint
