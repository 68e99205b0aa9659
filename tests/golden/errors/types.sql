-- Types that do not meet are refused with the cast to write.
SELECT count(*) FROM trades WHERE symbol = 5
----
[wrong-type] Symbol is string where bigint is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE symbol > quantity
----
[wrong-type] Symbol is string where bigint is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE symbol + 1 = 2
----
[wrong-type] Symbol is string where bigint is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE quantity = 'many'
----
[wrong-type] the text 'many' is no bigint (line 1, column 35)
====
SELECT count(*) FROM trades WHERE price = '1,5'
----
[wrong-type] the text '1,5' is no double (line 1, column 35)
====
SELECT count(*) FROM trades WHERE rate = 'one'
----
[wrong-type] the text 'one' is no double (line 1, column 35)
====
SELECT count(*) FROM trades WHERE settled = 'maybe'
----
[wrong-type] the text 'maybe' is no boolean (line 1, column 35)
  hint: Write TRUE or FALSE.
====
SELECT count(*) FROM trades WHERE day = '31.01.2026'
----
[wrong-type] the text '31.01.2026' is no date (line 1, column 35)
  hint: Write dates as '2026-01-31'.
====
SELECT count(*) FROM trades WHERE day = '2026-02-30'
----
[wrong-type] the text '2026-02-30' is no date (line 1, column 35)
  hint: Write dates as '2026-01-31'.
====
SELECT count(*) FROM trades WHERE at > 'yesterday'
----
[wrong-type] the text 'yesterday' is no timestamp (line 1, column 35)
  hint: Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a zone such as Europe/Paris behind it.
====
SELECT count(*) FROM trades WHERE at > '2026-01-31 25:00:00'
----
[wrong-type] the text '2026-01-31 25:00:00' is no timestamp (line 1, column 35)
  hint: Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a zone such as Europe/Paris behind it.
====
SELECT count(*) FROM trades WHERE at > '2026-01-31 10:00 Europe/Berlin'
----
[wrong-type] the text '2026-01-31 10:00 Europe/Berlin' is no timestamp (line 1, column 35)
  hint: Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a zone such as Europe/Paris behind it.
====
SELECT count(*) FROM trades WHERE settled = 1
----
[wrong-type] settled (boolean) cannot be compared with 1 (int) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE settled + 1 = 2
----
[wrong-type] + takes numbers, not settled (boolean) and 1 (int) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE day = 5
----
[wrong-type] day (date) cannot be compared with 5 (int) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE day > quantity
----
[wrong-type] quantity (bigint) cannot be compared with day (date) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE at - at > 1
----
[wrong-type] - is not supported on timestamp and timestamp (line 1, column 35)
  hint: Use date_add, datediff, or unix_micros for arithmetic on times.
====
SELECT count(*) FROM trades WHERE at + 5 > at
----
[wrong-type] + is not supported on timestamp and int (line 1, column 35)
  hint: Use date_add, datediff, or unix_micros for arithmetic on times.
====
SELECT count(*) FROM trades WHERE day * 2 = day
----
[wrong-type] * is not supported on date and int (line 1, column 35)
  hint: Use date_add, datediff, or unix_micros for arithmetic on times.
====
SELECT count(*) FROM trades WHERE quantity
----
[wrong-type] quantity is bigint where boolean is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE symbol
----
[wrong-type] Symbol is string where boolean is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE price + 1
----
[wrong-type] (price + decimal(1,0) '1') is decimal(11,2) where boolean is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE NOT quantity
----
[wrong-type] quantity is bigint where boolean is needed (line 1, column 39)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE settled AND quantity
----
[wrong-type] quantity is bigint where boolean is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE CASE WHEN quantity THEN 1 END = 1
----
[wrong-type] quantity is bigint where boolean is needed (line 1, column 45)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE CASE WHEN settled THEN day ELSE 1 END = day
----
[wrong-type] values of different types meet: date, int (line 1, column 45)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE coalesce(day, quantity) = 1
----
[wrong-type] values of different types meet: date, bigint (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE coalesce(symbol, 1) = 1
----
[wrong-type] Symbol is string where bigint is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE greatest(day, '2026-01-01') = day
----
[wrong-type] values of different types meet: date, string (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE symbol IN (1, 2)
----
[wrong-type] Symbol is string where bigint is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE quantity IN (1, 'two')
----
[wrong-type] the text 'two' is no bigint (line 1, column 35)
====
SELECT count(*) FROM trades WHERE day IN (1)
----
[wrong-type] values of different types meet: date, int (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE rate div 2 = 1
----
[wrong-type] div takes integers or decimals, not double and int (line 1, column 35)
  hint: Use floor(a / b).
====
SELECT count(*) FROM trades WHERE venue & rate = 1
----
[wrong-type] & takes integers, not smallint and double (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE sqrt(at) = 1
----
[wrong-type] at is timestamp where double is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE sqrt(symbol) = 1
----
[wrong-type] Symbol is string where double is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE year(quantity) = 1
----
[wrong-type] quantity is bigint where date is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE upper(symbol) > 1
----
[wrong-type] upper(Symbol) is string where bigint is needed (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE date_add(day, quantity) = day
----
[wrong-type] date_add takes a number of days of type int, not bigint (line 1, column 35)
====
SELECT count(*) FROM trades WHERE unix_micros(day) = 1
----
[wrong-type] unix_micros takes a timestamp, not day (date) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE CAST(day AS INT) = 1
----
[wrong-type] a date cannot be cast to int (line 1, column 40)
====
SELECT count(*) FROM trades WHERE CAST(settled AS TIMESTAMP) = at
----
[wrong-type] a boolean cannot be cast to timestamp (line 1, column 40)
====
SELECT count(*) FROM trades WHERE CAST(at AS BOOLEAN)
----
[wrong-type] a timestamp cannot be cast to boolean (line 1, column 40)
====
SELECT count(*) FROM trades WHERE CAST(symbol AS ARRAY<INT>) = 1
----
[unsupported-type] the type array is not supported (line 1, column 50)
  hint: Arrays, maps and structs cannot be computed with.
====
SELECT count(*) FROM trades WHERE CAST(symbol AS BINARY) = 1
----
[unsupported-type] the type binary is not supported (line 1, column 40)
  hint: Use string, for example the hexadecimal digits.
====
SELECT count(*) FROM trades WHERE CAST(symbol AS TIMESTAMP_NTZ) = at
----
[unsupported-type] the type timestamp_ntz is not supported (line 1, column 40)
  hint: Use timestamp; times are read as UTC.
====
SELECT count(*) FROM trades WHERE CAST(price AS DECIMAL(39,2)) = 1
----
[unsupported-type] decimal(39,2) is out of range (line 1, column 40)
  hint: A decimal has 1 to 38 digits.
====
SELECT count(*) FROM trades WHERE CAST(symbol AS nothing) = 1
----
[syntax-error] cannot parse the text: expected TYPE after CAST, near 'nothing' (line 1, column 50)
====
SELECT count(*) FROM trades WHERE 1e999 > rate
----
[wrong-type] the number 1e999 does not fit a double (line 1, column 35)
====
SELECT count(*) FROM trades WHERE 123456789012345678901234567890123456789 > price
----
[wrong-type] the number has more than 38 digits (line 1, column 35)
  hint: Write it as a double, as in 1e3.
====
SELECT count(*) FROM trades WHERE md5(quantity) = 'x'
----
[wrong-type] md5 takes a string, not quantity (bigint) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE timestamp_millis(rate) = at
----
[wrong-type] timestamp_millis takes a bigint or int or smallint or tinyint, not rate (double) (line 1, column 35)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE -settled
----
[wrong-type] negate takes numbers, not settled (boolean) (line 1, column 36)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE ~rate = 1
----
[wrong-type] ~ takes integers, not double (line 1, column 36)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades WHERE sha2(symbol, 100) = 'x'
----
[wrong-type] sha2 takes a constant 224, 256, 384 or 512 (line 1, column 35)
====
SELECT sum(symbol) FROM trades
----
[wrong-type] sum takes numbers, not a string (line 1, column 8)
  hint: Cast it.
====
SELECT NULL, count(*) FROM trades
----
[wrong-type] NULL alone has no type (line 1, column 8)
  hint: Write for example CAST(NULL AS INT).
====
SELECT count(*) FROM trades GROUP BY NULL
----
[wrong-type] NULL alone has no type (line 1, column 38)
  hint: Write for example CAST(NULL AS INT).
====
SELECT count_if(quantity) FROM trades
----
[wrong-type] quantity is bigint where boolean is needed (line 1, column 8)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT sum(quantity) FILTER (WHERE quantity) FROM trades
----
[wrong-type] quantity is bigint where boolean is needed (line 1, column 8)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades HAVING count(*)
----
[wrong-type] count(*) is bigint where boolean is needed (line 1, column 36)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT count(*) FROM trades LIMIT 1.5
----
[wrong-type] LIMIT takes a whole number that is not negative (line 1, column 35)
====
SELECT count(*) FROM trades LIMIT -1
----
[wrong-type] LIMIT takes a whole number that is not negative (line 1, column 36)
====
SELECT count(*) FROM trades LIMIT ALL
----
[wrong-type] LIMIT takes a whole number that is not negative (line 1, column 35)
====
SELECT count(*) FROM trades LIMIT quantity
----
[wrong-type] LIMIT takes a whole number that is not negative (line 1, column 35)
====
SELECT count(*) FROM trades WHERE tag = 300Y
----
[wrong-type] the number 300 is no tinyint, which its last letter says (line 1, column 41)
====
SELECT count(*) FROM trades WHERE venue = -32769S
----
[wrong-type] the number -32769 is no smallint, which its last letter says (line 1, column 44)
====
SELECT count(*) FROM trades WHERE venue = 1.5S
----
[wrong-type] the number 1.5 is no smallint, which its last letter says (line 1, column 43)
====
SELECT count(*) FROM trades WHERE quantity = 99999999999999999999L
----
[wrong-type] the number 99999999999999999999 is no bigint, which its last letter says (line 1, column 46)
====
SELECT count(*) FROM trades WHERE quantity = -CAST(5 AS DATE)
----
[wrong-type] a int cannot be cast to date (line 1, column 52)
====
SELECT count(*) FROM packets WHERE ts < TIMESTAMP '2024-01-01 00:00:00 America/Nowhere'
----
[wrong-type] the text '2024-01-01 00:00:00 America/Nowhere' is no timestamp (line 1, column 51)
  hint: Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a zone such as Europe/Paris behind it.
====
SELECT count(*) FROM packets WHERE ts < TIMESTAMP '2024-01-01 00:00:00 america/new_york'
----
[wrong-type] the text '2024-01-01 00:00:00 america/new_york' is no timestamp (line 1, column 51)
  hint: Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a zone such as Europe/Paris behind it.
====
SELECT count(*) FROM packets WHERE ts < TIMESTAMP '2024-01-01 00:00:00 ../etc/localtime'
----
[wrong-type] the text '2024-01-01 00:00:00 ../etc/localtime' is no timestamp (line 1, column 51)
  hint: Write timestamps as '2026-01-31 12:00:00', in UTC, or with an offset such as +02:00 or the name of a zone such as Europe/Paris behind it.
