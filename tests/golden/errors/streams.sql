-- FROM names a stream: no file, no table, nothing unknown.
SELECT count(*) FROM packet
----
[unknown-stream] there is no stream 'packet' (line 1, column 22)
  hint: Known names: packets.
====
SELECT count(*) FROM nothing_like_it
----
[unknown-stream] there is no stream 'nothing_like_it' (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM default.packets
----
[not-a-stream] 'default.packets' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets.
====
SELECT count(*) FROM spark_catalog.default.packets
----
[not-a-stream] 'spark_catalog.default.packets' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets.
====
SELECT count(*) FROM parquet.`/etc/passwd`
----
[not-a-stream] 'parquet./etc/passwd' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM text.`file:///etc/passwd`
----
[not-a-stream] 'text.file:///etc/passwd' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM csv.`http://169.254.169.254/latest`
----
[not-a-stream] 'csv.http://169.254.169.254/latest' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM `/etc/passwd`
----
[not-a-stream] '/etc/passwd' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM `../state/catalog.db`
----
[not-a-stream] '../state/catalog.db' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM 'in/part.parquet'
----
[not-a-stream] 'in/part.parquet' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM `hdfs://x/y`
----
[not-a-stream] 'hdfs://x/y' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM packets.files
----
[not-a-stream] 'packets.files' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM json.`s3a://bucket/key`
----
[not-a-stream] 'json.s3a://bucket/key' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM delta.`/tmp/x`
----
[not-a-stream] 'delta./tmp/x' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
====
SELECT count(*) FROM `packets; DROP TABLE x`
----
[not-a-stream] 'packets; DROP TABLE x' is a table or a file, not a stream (line 1, column 22)
  hint: Known names: packets, trades.
