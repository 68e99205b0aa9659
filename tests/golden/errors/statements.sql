-- Only one SELECT is let in: nothing else, and nothing after it.
SELECT count(*) FROM packets; SELECT count(*) FROM packets
----
[several-statements] the text holds more than one statement (line 1, column 29)
  hint: Register each query on its own.
====
SELECT count(*) FROM packets; DROP TABLE packets
----
[several-statements] the text holds more than one statement (line 1, column 29)
  hint: Register each query on its own.
====
INSERT INTO packets VALUES (1)
----
[not-a-select] a query starts with SELECT, not with 'INSERT' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
DROP TABLE packets
----
[not-a-select] a query starts with SELECT, not with 'DROP' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
CREATE TABLE t AS SELECT count(*) FROM packets
----
[not-a-select] a query starts with SELECT, not with 'CREATE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/etc/hostname')
----
[not-a-select] a query starts with SELECT, not with 'CREATE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
ADD JAR '/tmp/evil.jar'
----
[not-a-select] a query starts with SELECT, not with 'ADD JAR' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
SET spark.sql.runSQLOnFiles=true
----
[not-a-select] a query starts with SELECT, not with 'SET' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
EXPLAIN SELECT count(*) FROM packets
----
[not-a-select] a query starts with SELECT, not with 'EXPLAIN' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
DESCRIBE packets
----
[not-a-select] a query starts with SELECT, not with 'DESCRIBE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
SHOW TABLES
----
[not-a-select] a query starts with SELECT, not with 'SHOW' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
CACHE TABLE packets
----
[not-a-select] a query starts with SELECT, not with 'CACHE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
REFRESH TABLE packets
----
[not-a-select] a query starts with SELECT, not with 'REFRESH' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
USE other
----
[not-a-select] a query starts with SELECT, not with 'USE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
MERGE INTO a USING b ON TRUE WHEN MATCHED THEN DELETE
----
[not-a-select] a query starts with SELECT, not with 'MERGE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
TRUNCATE TABLE packets
----
[not-a-select] a query starts with SELECT, not with 'TRUNCATE' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
CALL system.run()
----
[not-a-select] a query starts with SELECT, not with 'CALL' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
BEGIN SELECT 1; END
----
[not-a-select] a query starts with SELECT, not with 'BEGIN' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
5
----
[not-a-select] a query starts with SELECT, not with '5' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
count(*)
----
[not-a-select] a query starts with SELECT, not with 'count' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
MAP (a) USING 'cat' FROM packets
----
[not-a-select] a query starts with SELECT, not with 'MAP' (line 1, column 1)
  hint: Only SELECT queries can be registered.
====
ＳＥＬＥＣＴ count(*) FROM packets
----
[not-a-select] a query starts with SELECT, not with 'ＳＥＬＥＣＴ' (line 1, column 1)
  hint: Only SELECT queries can be registered.
