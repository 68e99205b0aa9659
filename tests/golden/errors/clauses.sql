-- What a query cannot have is named, clause by clause.
SELECT packets.*, count(*) FROM packets
----
[not-grouped] the column 'ts' is neither grouped nor aggregated (line 1, column 16)
  hint: Add ts to GROUP BY, or aggregate it: max(ts).
====
SELECT count(*) FROM packets JOIN trades ON TRUE
----
[unsupported-clause] JOIN is not supported (line 1, column 30)
  hint: A query reads one stream; join before the stream is added.
====
SELECT count(*) FROM packets, trades
----
[unsupported-clause] a second stream in FROM is not supported (line 1, column 31)
  hint: A query reads one stream; join before the stream is added.
====
SELECT count(*) FROM packets LEFT JOIN trades USING (ts)
----
[unsupported-clause] JOIN is not supported (line 1, column 35)
  hint: A query reads one stream; join before the stream is added.
====
SELECT count(*) FROM packets UNION ALL SELECT count(*) FROM trades
----
[unsupported-clause] UNION is not supported (line 1, column 30)
====
SELECT count(*) FROM packets INTERSECT SELECT 1
----
[unsupported-clause] INTERSECT is not supported (line 1, column 30)
====
SELECT count(*) FROM packets MINUS SELECT 1
----
[unsupported-clause] EXCEPT is not supported (line 1, column 30)
====
WITH p AS (SELECT 1) SELECT count(*) FROM p
----
[unsupported-clause] WITH (a common table expression) is not supported (line 1, column 1)
====
SELECT count(*) FROM (SELECT * FROM packets)
----
[unsupported-clause] a subquery is not supported (line 1, column 23)
  hint: A query reads one stream, directly.
====
SELECT (SELECT max(length) FROM packets), count(*) FROM packets
----
[unsupported-clause] a subquery is not supported (line 1, column 9)
  hint: A query reads one stream, directly.
====
SELECT count(*) FROM packets WHERE length IN (SELECT 1)
----
[unsupported-clause] a subquery is not supported (line 1, column 47)
  hint: A query reads one stream, directly.
====
SELECT count(*) FROM packets WHERE EXISTS (SELECT 1)
----
[unsupported-clause] a subquery is not supported (line 1, column 44)
  hint: A query reads one stream, directly.
====
SELECT count(*) FROM packets WHERE length > ALL (SELECT 1)
----
[unsupported-clause] a subquery is not supported (line 1, column 50)
  hint: A query reads one stream, directly.
====
(SELECT count(*) FROM packets)
----
[unsupported-clause] a query in parentheses is not supported (line 1, column 1)
====
FROM packets SELECT count(*)
----
[unsupported-clause] FROM before SELECT is not supported (line 1, column 1)
====
VALUES (1, 2)
----
[unsupported-clause] VALUES is not supported (line 1, column 1)
====
SELECT count(*) FROM VALUES (1), (2)
----
[unsupported-clause] VALUES is not supported (line 1, column 22)
====
SELECT count(*) FROM range(10)
----
[unsupported-clause] a function in FROM is not supported (line 1, column 22)
  hint: Name a stream in FROM.
====
SELECT count(*) FROM explode(array(1))
----
[unsupported-clause] a function in FROM is not supported (line 1, column 22)
  hint: Name a stream in FROM.
====
SELECT count(*) FROM packets LATERAL VIEW explode(array(1)) t AS x
----
[unsupported-clause] LATERAL VIEW is not supported (line 1, column 30)
====
SELECT count(*) FROM packets PIVOT (sum(length) FOR proto IN (6, 17))
----
[unsupported-clause] PIVOT is not supported (line 1, column 30)
====
SELECT count(*) FROM packets TABLESAMPLE (10 PERCENT)
----
[unsupported-clause] TABLESAMPLE is not supported (line 1, column 30)
====
SELECT count(*) FROM packets VERSION AS OF 1
----
[unsupported-clause] TIME TRAVEL is not supported (line 1, column 22)
====
SELECT count(*) FROM packets AS p(a, b)
----
[unsupported-clause] an alias for columns is not supported (line 1, column 33)
====
SELECT sum(length) OVER (PARTITION BY saddr) FROM packets
----
[unsupported-clause] a window function (OVER) is not supported (line 1, column 20)
  hint: Use GROUP BY window(...); a query has one row for each group and window.
====
SELECT rank() OVER (ORDER BY length) FROM packets
----
[unsupported-clause] a window function (OVER) is not supported (line 1, column 15)
  hint: Use GROUP BY window(...); a query has one row for each group and window.
====
SELECT count(*) FROM packets QUALIFY count(*) > 1
----
[unsupported-clause] QUALIFY is not supported (line 1, column 30)
====
SELECT count(*) FROM packets WINDOW w AS (PARTITION BY saddr)
----
[unsupported-clause] WINDOW is not supported (line 1, column 30)
====
SELECT count(*) FROM packets GROUP BY saddr WITH ROLLUP
----
[unsupported-clause] WITH is not supported (line 1, column 45)
====
SELECT count(*) FROM packets GROUP BY ROLLUP (saddr)
----
[unsupported-clause] ROLLUP is not supported (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY CUBE (saddr, daddr)
----
[unsupported-clause] CUBE is not supported (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY GROUPING SETS ((saddr), ())
----
[unsupported-clause] GROUPING SETS is not supported (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY ALL
----
[unsupported-clause] GROUP BY ALL is not supported (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY (saddr, daddr)
----
[unsupported-clause] a row of values in GROUP BY is not supported (line 1, column 40)
  hint: Remove the parentheses.
====
SELECT saddr FROM packets GROUP BY saddr CLUSTER BY saddr
----
[unsupported-clause] CLUSTER BY is not supported (line 1, column 42)
====
SELECT saddr FROM packets GROUP BY saddr SORT BY saddr
----
[unsupported-clause] SORT BY is not supported (line 1, column 42)
====
SELECT saddr FROM packets GROUP BY saddr DISTRIBUTE BY saddr
----
[unsupported-clause] DISTRIBUTE BY is not supported (line 1, column 42)
====
SELECT count(*) FROM packets LIMIT 5 OFFSET 5
----
[unsupported-clause] OFFSET is not supported (line 1, column 38)
====
SELECT count(*) INTO t FROM packets
----
[unsupported-clause] INTO is not supported (line 1, column 17)
====
SELECT /*+ BROADCAST(packets) */ count(*) FROM packets
----
[unsupported-clause] a hint is not supported (line 1, column 8)
  hint: Weft plans the work itself; remove the hint.
====
SELECT count(*) FROM packets WHERE length > :limit
----
[unsupported-clause] a parameter or a path into JSON is not supported (line 1, column 45)
====
SELECT count(*) FROM packets WHERE length > ?
----
[unsupported-clause] a parameter is not supported (line 1, column 45)
  hint: Write the value itself.
====
SELECT count(*) FROM packets WHERE length > ${limit}
----
[unsupported-clause] a parameter is not supported (line 1, column 45)
  hint: Write the value itself.
====
SELECT count(*) FROM packets WHERE length > {limit}
----
[unsupported-clause] a parameter is not supported (line 1, column 45)
  hint: Write the value itself.
====
SELECT count(*) FROM packets WHERE exists(array(1), x -> x > 1)
----
[unsupported-clause] a lambda is not supported (line 1, column 55)
====
SELECT count(*) FROM packets WHERE saddr[0] = 'a'
----
[unsupported-clause] an array or map element is not supported (line 1, column 41)
====
SELECT TRANSFORM (saddr) USING 'cat' AS (x) FROM packets
----
[forbidden-function] transform is not allowed in a query (line 1, column 8)
  hint: Queries reach nothing but their stream.
====
SELECT transform(saddr, 1) FROM packets
----
[forbidden-function] transform is not allowed in a query (line 1, column 8)
  hint: Queries reach nothing but their stream.
====
SELECT count(*) FROM packets WHERE saddr LIKE 'a!%' ESCAPE '!'
----
[unsupported-clause] ESCAPE is not supported (line 1, column 36)
  hint: Escape with a backslash: LIKE '10\\%'.
====
SELECT count(*) FROM packets WHERE saddr LIKE ANY ('a', 'b')
----
[unknown-function] there is no function 'any' (line 1, column 47)
  hint: Near names: day.
====
SELECT count(*) FROM packets WHERE ts > ts - INTERVAL 5 MINUTES
----
[unsupported-clause] INTERVAL outside window() is not supported (line 1, column 41)
  hint: Use date_add, or unix_micros and timestamp_micros, for arithmetic on times.
====
SELECT count(*) FROM packets WHERE (saddr, daddr) = ('a', 'b')
----
[unsupported-clause] a row of values is not supported (line 1, column 37)
====
SELECT count(*) FROM packets WHERE saddr COLLATE unicode = 'a'
----
[syntax-error] cannot parse the text: this was not expected here, near 'COLLATE' (line 1, column 42)
====
SELECT sum(*) FROM packets
----
[unsupported-clause] sum(*) is not supported (line 1, column 8)
  hint: Only count(*) counts rows.
====
SELECT count(DISTINCT *) FROM packets
----
[unsupported-clause] count(*) is not supported (line 1, column 8)
  hint: Only count(*) counts rows.
====
SELECT upper(saddr) FILTER (WHERE proto = 6), count(*) FROM packets GROUP BY saddr
----
[unsupported-clause] FILTER, WITHIN GROUP and IGNORE NULLS belong to an aggregate (line 1, column 8)
====
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY length DESC) FROM packets
----
[unsupported-clause] WITHIN GROUP takes one ascending key (line 1, column 8)
  hint: Use 1 - p instead of DESC.
====
SELECT extract(EPOCH FROM ts) FROM packets
----
[unsupported-clause] EXTRACT of EPOCH is not supported (line 1, column 27)
  hint: Use one of YEAR, QUARTER, MONTH, WEEK, DAY, DAYOFWEEK, DOW, DOY, HOUR, MINUTE, SECOND.
====
SELECT count(*) FROM packets WHERE saddr = X'41'
----
[unsupported-clause] a binary constant is not supported (line 1, column 44)
====
SELECT count(*) FROM packets FOR UPDATE
----
[syntax-error] cannot parse the text: this was not expected here, near 'UPDATE' (line 1, column 34)
====
SELECT DISTINCT saddr, count(*) FROM packets GROUP BY saddr
----
[unsupported-clause] SELECT DISTINCT beside GROUP BY or an aggregate is not supported (line 1, column 17)
  hint: Groups are distinct already; leave DISTINCT out.
====
SELECT DISTINCT ON (saddr) saddr, port FROM packets
----
[unknown-function] there is no function 'on' (line 1, column 17)
  hint: docs/sql.md lists the functions.
====
SELECT * EXCEPT (saddr) FROM packets
----
[unsupported-clause] EXCEPT is not supported (line 1, column 10)
====
SELECT q.* FROM packets p
----
[unknown-column] there is nothing called 'q' in FROM (line 1, column 8)
====
SELECT saddr, count(*) FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW) GROUP BY saddr
----
[unsupported-clause] an aggregate over a window that is put on when somebody asks is not supported (line 1, column 37)
  hint: Use [RANGE ..] or GROUP BY window(..), or select rows.
