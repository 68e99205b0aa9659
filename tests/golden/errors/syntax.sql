-- A text that is no SQL is refused at the place where it stops being SQL.
SELEC count(*) FROM packets
----
[not-a-select] a query starts with SELECT, not with 'SELEC' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
SELECT
----
[syntax-error] SELECT names no columns (line 1, column 7)
====
SELECT FROM packets
----
[syntax-error] SELECT names no columns (line 1, column 7)
====
SELECT count(*
----
[syntax-error] cannot parse the text: expecting ), near '*' (line 1, column 14)
====
SELECT count(*) FROM
----
[syntax-error] cannot parse the text: expected table name, near 'FROM' (line 1, column 17)
====
SELECT count(*) FROM packets WHERE
----
[syntax-error] cannot parse the text: an operand is missing, near 'WHERE' (line 1, column 30)
====
SELECT count(*) FROM packets WHERE length >
----
[syntax-error] cannot parse the text: an operand is missing, near '>' (line 1, column 43)
====
SELECT count(*), FROM packets
----
[syntax-error] something is missing after the comma (line 1, column 16)
====
SELECT sum(length,) FROM packets
----
[syntax-error] something is missing after the comma (line 1, column 18)
====
SELECT count(*) FROM packets GROUP BY saddr,
----
[syntax-error] something is missing after the comma (line 1, column 44)
====
SELECT count(*) FROM packets WHERE saddr = 'open
----
[syntax-error] the text ends inside a string or a name, or holds a malformed number (line 1, column 44)
  hint: Close the quote that was opened.
====
SELECT count(*) FROM packets WHERE `open = 1
----
[syntax-error] the text ends inside a string or a name, or holds a malformed number (line 1, column 36)
  hint: Close the quote that was opened.
====
SELECT count(*) AS FROM packets
----
[syntax-error] cannot parse the text: this was not expected here, near 'packets' (line 1, column 25)
====
SELECT count(*) FROM packets WHERE (length > 5
----
[syntax-error] cannot parse the text: expecting ), near '5' (line 1, column 46)
====
SELECT count(*) FROM packets WHERE length > 5)
----
[syntax-error] cannot parse the text: this was not expected here, near ')' (line 1, column 46)
====
SELECT count(*) FROM packets
WHERE length >> > 5
----
[syntax-error] cannot parse the text: an operand is missing, near '>' (line 2, column 17)
====
SELECT CASE WHEN length > 5 THEN 1 FROM packets
----
[syntax-error] cannot parse the text: expected END after CASE, near '1' (line 1, column 34)
====
SELECT count(*) FROM packets WHERE length BETWEEN 1
----
[syntax-error] cannot parse the text: an operand is missing, near '1' (line 1, column 51)
====
SELECT count(*) FROM packets WHERE length IS 5
----
[syntax-error] IS takes NULL, TRUE, FALSE or DISTINCT FROM (line 1, column 36)
====
SELECT count(*) FROM packets WHERE proto IN ()
----
[syntax-error] IN takes a list of values in parentheses (line 1, column 36)
====
-- nothing but a comment
----
[syntax-error] the text is empty
  hint: Write a SELECT query.
====
;;;
----
[syntax-error] the text is empty
  hint: Write a SELECT query.
====
SELECT count(*) FROM packets WHERE a < b IN (1, 2)
----
[syntax-error] it is not clear here which operator comes first (line 1, column 40)
  hint: Add parentheses.
====
SELECT count(*) FROM packets WHERE saddr || port + 1 = 'x'
----
[syntax-error] it is not clear here which operator comes first (line 1, column 45)
  hint: Add parentheses.
====
SELECT count(*) WHERE length > 5
----
[syntax-error] the query has no FROM (line 1, column 33)
  hint: Known names: packets, trades.
====
SELECT percentile_cont(0.5) FROM packets
----
[syntax-error] percentile_cont needs WITHIN GROUP (ORDER BY ...) (line 1, column 8)
  hint: Or use percentile(x, p).
