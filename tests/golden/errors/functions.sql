-- Only functions on the list are called: nothing that varies, nothing that reaches out.
SELECT count(*) FROM packets WHERE rand() > 0.5
----
[nondeterministic-function] rand gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE randn(5) > 0
----
[nondeterministic-function] randn gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE uuid() = saddr
----
[nondeterministic-function] uuid gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE now() > ts
----
[nondeterministic-function] now gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE ts > current_timestamp
----
[nondeterministic-function] current_timestamp gives another value each time it is asked (line 1, column 41)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE ts > current_timestamp()
----
[nondeterministic-function] current_timestamp gives another value each time it is asked (line 1, column 41)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE current_date() = ts
----
[nondeterministic-function] current_date gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE shuffle(saddr) = 'a'
----
[nondeterministic-function] shuffle gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE monotonically_increasing_id() = 1
----
[nondeterministic-function] monotonically_increasing_id gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE input_file_name() = 'x'
----
[nondeterministic-function] input_file_name gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE spark_partition_id() = 0
----
[nondeterministic-function] spark_partition_id gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE current_user() = saddr
----
[nondeterministic-function] current_user gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE current_user = saddr
----
[nondeterministic-function] current_user gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE localtimestamp > ts
----
[nondeterministic-function] localtimestamp gives another value each time it is asked (line 1, column 36)
  hint: Use the stream's columns; a query must give the same result when it is computed again.
====
SELECT count(*) FROM packets WHERE java_method('java.lang.System', 'getProperty', 'user.dir') = 'x'
----
[forbidden-function] java_method is not allowed in a query (line 1, column 36)
  hint: Queries reach nothing but their stream.
====
SELECT count(*) FROM packets WHERE reflect('java.lang.System', 'getenv', 'HOME') = 'x'
----
[forbidden-function] reflect is not allowed in a query (line 1, column 36)
  hint: Queries reach nothing but their stream.
====
SELECT count(*) FROM packets WHERE try_reflect('java.lang.System', 'exit', 1) = 'x'
----
[forbidden-function] try_reflect is not allowed in a query (line 1, column 36)
  hint: Queries reach nothing but their stream.
====
SELECT count(*) FROM packets WHERE Java_Method('a', 'b') = 'x'
----
[forbidden-function] java_method is not allowed in a query (line 1, column 36)
  hint: Queries reach nothing but their stream.
====
SELECT count(*) FROM packets WHERE `reflect`('a', 'b') = 'x'
----
[forbidden-function] reflect is not allowed in a query (line 1, column 36)
  hint: Queries reach nothing but their stream.
====
SELECT count(*) FROM packets WHERE uper(saddr) = 'A'
----
[unknown-function] there is no function 'uper' (line 1, column 36)
  hint: Near names: upper, power.
====
SELECT count(*) FROM packets WHERE no_such_thing(saddr)
----
[unknown-function] there is no function 'no_such_thing' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE explode(saddr) = 'a'
----
[unknown-function] there is no function 'explode' (line 1, column 36)
  hint: Near names: exp.
====
SELECT count(*) FROM packets WHERE array(1, 2) = saddr
----
[unknown-function] there is no function 'array' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE map('a', 1) = saddr
----
[unknown-function] there is no function 'map' (line 1, column 36)
  hint: Near names: max.
====
SELECT count(*) FROM packets WHERE sequence(1, 1000000000) = saddr
----
[unknown-function] there is no function 'sequence' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE from_json(saddr, 'a int') = 1
----
[unknown-function] there is no function 'from_json' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE default.upper(saddr) = 'A'
----
[unknown-function] 'upper' is called as part of something else (line 1, column 44)
  hint: Functions have no qualifier.
====
SELECT count(*) FROM packets WHERE system.builtin.reflect('a') = 'x'
----
[unknown-function] 'reflect' is called as part of something else (line 1, column 51)
  hint: Functions have no qualifier.
====
SELECT count(*) FROM packets WHERE sleep(1000)
----
[unknown-function] there is no function 'sleep' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE raise_error('x')
----
[unknown-function] there is no function 'raise_error' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE ai_query('x', saddr) = 'x'
----
[unknown-function] there is no function 'ai_query' (line 1, column 36)
  hint: docs/sql.md lists the functions.
====
SELECT count(*) FROM packets WHERE upper() = 'A'
----
[wrong-type] upper takes 1 argument, not 0 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE upper(saddr, daddr) = 'A'
----
[wrong-type] upper takes 1 argument, not 2 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE round(length, port) = 1
----
[wrong-type] round takes a constant number of places, from -38 to 38 (line 1, column 36)
====
SELECT count(*) FROM packets WHERE summ(length) > 1
----
[unknown-function] there is no function 'summ' (line 1, column 36)
  hint: Near names: sum, signum.
====
SELECT count(*) FROM packets WHERE upper(saddr AS x) = 'A'
----
[unsupported-clause] AS inside an expression is not supported (line 1, column 42)
====
SELECT count(*) FROM packets WHERE upper(DISTINCT saddr) = 'A'
----
[unsupported-clause] DISTINCT is not supported (line 1, column 51)
====
SELECT count(*) FROM packets WHERE upper(*) = 'A'
----
[unsupported-clause] SELECT * is not supported (line 1, column 42)
  hint: Name the columns.
