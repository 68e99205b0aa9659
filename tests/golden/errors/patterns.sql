-- A pattern that Spark would refuse on a row, or that could run away, is refused before.
SELECT count(*) FROM packets WHERE saddr LIKE daddr
----
[bad-pattern] a pattern must be a constant string (line 1, column 36)
  hint: Write it in quotes.
====
SELECT count(*) FROM packets WHERE saddr LIKE 'a\\b'
----
[bad-pattern] a \ in a LIKE pattern must stand before _, % or \ (line 1, column 36)
  hint: Write \\ for the character itself.
====
SELECT count(*) FROM packets WHERE saddr LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a'
----
[bad-pattern] a LIKE pattern has at most 1000 characters and 16 % (line 1, column 36)
====
SELECT count(*) FROM packets WHERE saddr RLIKE daddr
----
[bad-pattern] a pattern must be a constant string (line 1, column 36)
  hint: Write it in quotes.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '('
----
[bad-pattern] the pattern is not valid: missing ), unterminated subpattern at position 0 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE saddr RLIKE 'a)'
----
[bad-pattern] the pattern closes a group that it did not open (line 1, column 36)
====
SELECT count(*) FROM packets WHERE saddr RLIKE '(a+)+$'
----
[bad-pattern] a repeated group holds a repetition or an alternative, which can take forever (line 1, column 36)
  hint: Repeat a single character or class, as in [a-z]+.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '(a|aa)*b'
----
[bad-pattern] a repeated group holds a repetition or an alternative, which can take forever (line 1, column 36)
  hint: Repeat a single character or class, as in [a-z]+.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '([a-z]*)*'
----
[bad-pattern] a repeated group holds a repetition or an alternative, which can take forever (line 1, column 36)
  hint: Repeat a single character or class, as in [a-z]+.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '(?:(?:x+)y?){2,}'
----
[bad-pattern] a repeated group holds a repetition or an alternative, which can take forever (line 1, column 36)
  hint: Repeat a single character or class, as in [a-z]+.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '(.*)\\1'
----
[bad-pattern] the escape \1 is not supported (line 1, column 36)
  hint: Use [a-z], \d, \w, \s or the character itself.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '[a[b]]'
----
[bad-pattern] a character class holds [, && or an escape that is not supported (line 1, column 36)
  hint: Escape [ as \[.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '[a-z&&[^b]]'
----
[bad-pattern] a character class holds [, && or an escape that is not supported (line 1, column 36)
  hint: Escape [ as \[.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '[z-a]'
----
[bad-pattern] the pattern is not valid: bad character range z-a at position 1 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE saddr RLIKE 'a{'
----
[bad-pattern] a { that starts no repetition must be written \{ (line 1, column 36)
====
SELECT count(*) FROM packets WHERE saddr RLIKE '(?<name>a)'
----
[bad-pattern] a group that begins with ? is not supported (line 1, column 36)
  hint: Use (?:...) or a plain group.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '\\p{L}'
----
[bad-pattern] the escape \p is not supported (line 1, column 36)
  hint: Use [a-z], \d, \w, \s or the character itself.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '.*.*.*.*.*.*.*.*.*.*.*='
----
[bad-pattern] the pattern can match a string in too many ways, which can take forever (line 1, column 36)
  hint: Begin it with ^, or put between two repetitions what neither takes, as in \d+\.\d+.
====
SELECT count(*) FROM packets WHERE saddr RLIKE '*a'
----
[bad-pattern] the pattern is not valid: nothing to repeat at position 0 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE regexp_extract(saddr, 'a(b)', 2) = 'x'
----
[wrong-type] the group must be a constant from 0 to 1: the pattern has 1 groups (line 1, column 36)
====
SELECT count(*) FROM packets WHERE regexp_extract(saddr, 'ab') = 'x'
----
[wrong-type] the group must be a constant from 0 to 0: the pattern has 0 groups (line 1, column 36)
====
SELECT count(*) FROM packets WHERE regexp_replace(saddr, 'a', '$1') = 'x'
----
[bad-pattern] the replacement names group 1, the pattern has 0 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE regexp_replace(saddr, '(?=(.*+))', '$1$1') = 'x'
----
[bad-pattern] the replacement names group 1, which the pattern only looks at (line 1, column 36)
  hint: Take what is to be copied out of (?=...), (?<=...) and the like.
====
SELECT count(*) FROM packets WHERE regexp_replace(saddr, 'a', '\\') = 'x'
----
[bad-pattern] in a replacement, $ stands before the number of a group and \ before a character (line 1, column 36)
====
SELECT count(*) FROM packets WHERE repeat('a', 1000000000) = saddr
----
[wrong-type] the count must be a constant from 0 to 1000 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE repeat(saddr, length) = saddr
----
[wrong-type] the count must be a constant from 0 to 1000 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE repeat(repeat(saddr, 1000), 1000) = saddr
----
[too-large] the string may grow without bound (line 1, column 36)
  hint: Repeat, pad and replace less.
====
SELECT count(*) FROM packets WHERE lpad(saddr, 100000, 'x') = saddr
----
[wrong-type] the count must be a constant from 0 to 1000 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE replace(saddr, 'a', daddr) = saddr
----
[bad-pattern] what replace looks for and puts in its place must be a constant string (line 1, column 36)
  hint: Write it in quotes.
====
SELECT count(*) FROM packets WHERE replace(replace(replace(saddr, 'a', repeat('a', 1000)), 'a', 'aaaaaaaaaa'), 'a', 'aa') = saddr
----
[bad-pattern] what replace looks for and puts in its place must be a constant string (line 1, column 52)
  hint: Write it in quotes.
====
SELECT count(*) FROM packets WHERE date_format(ts, 'YYYY-ww') = 'x'
----
[bad-pattern] 'YYYY' is not supported in a date pattern (line 1, column 36)
  hint: Write for example 'yyyy-MM-dd HH:mm:ss'.
====
SELECT count(*) FROM packets WHERE date_format(ts, saddr) = 'x'
----
[bad-pattern] a date pattern must be a constant string (line 1, column 36)
  hint: Write it in quotes.
====
SELECT count(*) FROM packets WHERE date_format(ts, 'yyyyyyy') = 'x'
----
[bad-pattern] 'yyyyyyy' is not supported in a date pattern (line 1, column 36)
  hint: Write for example 'yyyy-MM-dd HH:mm:ss'.
====
SELECT count(*) FROM packets WHERE date_trunc('fortnight', ts) = ts
----
[bad-pattern] 'fortnight' is no unit to truncate to (line 1, column 36)
  hint: Use one of YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND, MICROSECOND.
====
SELECT count(*) FROM packets WHERE date_trunc(saddr, ts) = ts
----
[bad-pattern] the unit must be a constant string (line 1, column 36)
  hint: Write it in quotes.
====
SELECT count(*) FROM packets WHERE trunc(ts, 'hour') = ts
----
[bad-pattern] 'hour' is no unit to truncate to (line 1, column 36)
  hint: Use one of YEAR, QUARTER, MONTH, WEEK.
