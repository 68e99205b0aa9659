-- An unknown name is answered with the names that are near it; a name means one thing.
SELECT lenght, count(*) FROM packets GROUP BY lenght
----
[unknown-column] there is no column 'lenght' (line 1, column 47)
  hint: Known names: length.
====
SELECT count(*) FROM packets WHERE
    prot = 6
----
[unknown-column] there is no column 'prot' (line 2, column 5)
  hint: Known names: proto, port.
====
SELECT count(*) FROM packets WHERE q.length > 5
----
[unknown-column] there is no column 'q.length' (line 1, column 36)
  hint: Known names: length.
====
SELECT packets.length FROM packets p GROUP BY length
----
[unknown-column] there is no column 'packets.length' (line 1, column 8)
  hint: Known names: length.
====
SELECT max(p.lenth) FROM packets p
----
[unknown-column] there is no column 'lenth' (line 1, column 12)
  hint: Known names: length.
====
SELECT count(*) FROM packets WHERE a.b.c = 1
----
[unknown-column] there is no column 'a.b.c' (line 1, column 36)
  hint: Known names: ts, saddr, daddr, proto, port, length.
====
SELECT bytes, sum(length) AS bytes2 FROM packets GROUP BY saddr
----
[unknown-column] there is no column 'bytes' (line 1, column 8)
  hint: Known names: ts, saddr, daddr, proto, port, length.
====
SELECT sum(length) AS bytes, bytes * 8 AS bits FROM packets
----
[unknown-column] there is no column 'bytes' (line 1, column 30)
  hint: Known names: ts, saddr, daddr, proto, port, length.
====
SELECT sum(length) AS bytes FROM packets WHERE bytes > 5
----
[unknown-column] there is no column 'bytes' (line 1, column 48)
  hint: Known names: ts, saddr, daddr, proto, port, length.
====
SELECT count(*) FROM packets GROUP BY saddr ORDER BY nothing
----
[unknown-column] there is no column 'nothing' (line 1, column 54)
  hint: Known names: ts, saddr, daddr, proto, port, length.
====
SELECT window.start, count(*) FROM packets
----
[unknown-column] there is no column 'window.start' (line 1, column 8)
  hint: There is a window where GROUP BY has window(...).
====
SELECT window, count(*) FROM packets GROUP BY saddr
----
[unknown-column] there is no column 'window' (line 1, column 8)
  hint: There is a window where GROUP BY has window(...).
====
SELECT window.middle FROM packets GROUP BY window(ts, '1 hour')
----
[unknown-column] the window has no part 'middle' (line 1, column 8)
  hint: It has window.start and window.end.
====
SELECT count(*) FROM packets GROUP BY 2
----
[unknown-column] there is no column 2 in SELECT, which has 1 (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY 0
----
[unknown-column] there is no column 0 in SELECT, which has 1 (line 1, column 39)
====
SELECT count(*) FROM packets ORDER BY 5
----
[unknown-column] there is no column 5 in SELECT, which has 1 (line 1, column 39)
====
SELECT saddr, saddr FROM packets GROUP BY saddr
----
[duplicate-name] the name 'saddr' stands twice in SELECT (line 1, column 15)
  hint: Give one of them another name with AS.
====
SELECT sum(length) AS a, max(length) AS A FROM packets
----
[duplicate-name] the name 'A' stands twice in SELECT (line 1, column 26)
  hint: Give one of them another name with AS.
====
SELECT sum(length), sum(length) FROM packets
----
[duplicate-name] the name 'sum(length)' stands twice in SELECT (line 1, column 21)
  hint: Give one of them another name with AS.
====
SELECT saddr AS window_start FROM packets GROUP BY saddr, window(ts, '1 hour')
----
[duplicate-name] the name 'window_start' is the window's own (line 1, column 8)
  hint: Give one of them another name with AS.
====
SELECT count(*) AS Window_End FROM packets GROUP BY window(ts, '1 hour')
----
[duplicate-name] the name 'Window_End' is the window's own (line 1, column 8)
  hint: Give one of them another name with AS.
====
SELECT count(*) AS `` FROM packets
----
[duplicate-name] a column needs a name of 1 to 255 characters (line 1, column 8)
  hint: Name it with AS.
