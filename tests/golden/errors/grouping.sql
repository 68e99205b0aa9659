-- Every column of the result is grouped or aggregated, and aggregates stand where they may.
SELECT saddr, count(*) FROM packets
----
[not-grouped] the column 'saddr' is neither grouped nor aggregated (line 1, column 8)
  hint: Add saddr to GROUP BY, or aggregate it: max(saddr).
====
SELECT saddr, daddr, count(*) FROM packets GROUP BY saddr
----
[not-grouped] the column 'daddr' is neither grouped nor aggregated (line 1, column 15)
  hint: Add daddr to GROUP BY, or aggregate it: max(daddr).
====
SELECT saddr, count(*) + port AS x FROM packets GROUP BY saddr
----
[not-grouped] the column 'port' is neither grouped nor aggregated (line 1, column 26)
  hint: Add port to GROUP BY, or aggregate it: max(port).
====
SELECT length % 10 FROM packets GROUP BY length % 5
----
[not-grouped] the column 'length' is neither grouped nor aggregated (line 1, column 8)
  hint: Add length to GROUP BY, or aggregate it: max(length).
====
SELECT count(*) FROM packets GROUP BY saddr HAVING port > 5
----
[not-grouped] the column 'port' is neither grouped nor aggregated (line 1, column 52)
  hint: Add port to GROUP BY, or aggregate it: max(port).
====
SELECT count(*) FROM packets GROUP BY saddr ORDER BY daddr
----
[not-grouped] the column 'daddr' is neither grouped nor aggregated (line 1, column 54)
  hint: Add daddr to GROUP BY, or aggregate it: max(daddr).
====
SELECT count(*) FROM packets WHERE sum(length) > 5
----
[misplaced-aggregate] sum is an aggregate and not allowed in WHERE (line 1, column 36)
  hint: Use HAVING to filter by aggregates.
====
SELECT count(*) FROM packets WHERE length > 5 AND count(*) > 1
----
[misplaced-aggregate] count is an aggregate and not allowed in WHERE (line 1, column 51)
  hint: Use HAVING to filter by aggregates.
====
SELECT count(*) FROM packets GROUP BY sum(length)
----
[misplaced-aggregate] sum is an aggregate and not allowed in GROUP BY (line 1, column 39)
====
SELECT sum(length) AS s, count(*) FROM packets GROUP BY s
----
[misplaced-aggregate] sum is an aggregate and not allowed in GROUP BY (line 1, column 8)
====
SELECT sum(max(length)) FROM packets
----
[nested-aggregate] max stands inside another aggregate (line 1, column 12)
  hint: Aggregate once; compute with the results outside.
====
SELECT count(*) FILTER (WHERE sum(length) > 5) FROM packets
----
[nested-aggregate] sum stands inside another aggregate (line 1, column 31)
  hint: Aggregate once; compute with the results outside.
====
SELECT sum(length) AS s, sum(s) FROM packets
----
[unknown-column] there is no column 's' (line 1, column 30)
  hint: Known names: ts.
====
SELECT ts FROM packets GROUP BY window(ts, '1 hour')
----
[not-grouped] the column 'ts' is neither grouped nor aggregated (line 1, column 8)
  hint: Add ts to GROUP BY, or aggregate it: max(ts).
====
SELECT saddr, max(daddr) FROM packets GROUP BY window(ts, '1 hour')
----
[not-grouped] the column 'saddr' is neither grouped nor aggregated (line 1, column 8)
  hint: Add saddr to GROUP BY, or aggregate it: max(saddr).
