-- what a text means as a tree over feeds; spellings of one meaning are one tree
SELECT count(*) AS n FROM packets
----
project n = count(*) : bigint
  group () with (count(*))
    scan packets
====
SELECT port, sum(length) AS bytes FROM packets GROUP BY port
----
project port = port : int, bytes = sum(length) : bigint
  group (port) with (sum(length))
    scan packets
====
SELECT p.port, sum(p.length) AS bytes FROM packets AS p WHERE TRUE GROUP BY p.port, p.port
----
project port = port : int, bytes = sum(length) : bigint
  group (port) with (sum(length))
    scan packets
====
SELECT saddr, window.start, count(*) AS n, sum(length) / count(*) AS mean FROM packets
WHERE proto = 6 AND length > 100
GROUP BY saddr, window(ts, '10 minutes', '2 minutes')
HAVING count(*) > 5 ORDER BY n DESC, saddr LIMIT 10
----
project saddr = saddr : string, start = window.start : timestamp, n = count(*) : bigint, mean = (cast(sum(length) as double) / cast(count(*) as double)) : double
  limit 10
    order count(*) desc nulls last, saddr asc nulls first
      filter (bigint '5' < count(*))
        group (saddr) with (count(*), sum(length))
          filter ((100 < length) and (proto = 6))
            scan packets range 10 minutes slide 2 minutes
====
SELECT window.end AS e FROM packets GROUP BY window(ts, '1 minute')
----
project e = window.end : timestamp
  group (window) with ()
    scan packets range 1 minute
====
SELECT port % 2 AS odd FROM packets GROUP BY 1 ORDER BY max(length)
----
project odd = (port % 2) : int
  order max(length) asc nulls first
    group ((port % 2)) with (max(length))
      scan packets
====
SELECT count(*) FILTER (WHERE proto = 6) AS tcp FROM packets HAVING TRUE LIMIT 0
----
project tcp = count(*) filter ((proto = 6)) : bigint
  limit 0
    group () with (count(*) filter ((proto = 6)))
      scan packets
