-- A window is over the event time, has a fixed length, and its slide leaves nothing out.
SELECT count(*) FROM packets GROUP BY window(ts)
----
[bad-window] window takes 2 to 4 arguments, not 1 (line 1, column 39)
  hint: Write window(ts, '10 minutes', '2 minutes').
====
SELECT count(*) FROM packets GROUP BY window(length, '1 hour')
----
[bad-window] the first argument of window must be the event time, ts (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY window(p.ts, '1 hour')
----
[unknown-column] there is no column 'p.ts' (line 1, column 39)
  hint: Known names: ts.
====
SELECT count(*) FROM packets GROUP BY window('2026-01-01', '1 hour')
----
[bad-window] the first argument of window must be the event time, ts (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY window(ts, '5 minutes', '10 minutes')
----
[bad-window] the slide of a window must not be longer than its range (line 1, column 39)
  hint: Rows between two windows would be lost; swap the two.
====
SELECT count(*) FROM packets GROUP BY window(ts, '0 seconds')
----
[bad-window] the range and the slide of a window must be longer than nothing (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY window(ts, '-5 minutes')
----
[bad-window] the range and the slide of a window must be longer than nothing (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY window(ts, '5 minutes', '0 seconds')
----
[bad-window] the range and the slide of a window must be longer than nothing (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY window(ts, '1 month')
----
[bad-duration] '1 month' is not a fixed time: months and years differ in length (line 1, column 39)
  hint: Use days or weeks.
====
SELECT count(*) FROM packets GROUP BY window(ts, '2 years', '1 day')
----
[bad-duration] '2 years' is not a fixed time: months and years differ in length (line 1, column 39)
  hint: Use days or weeks.
====
SELECT count(*) FROM packets GROUP BY window(ts, 'soon')
----
[bad-duration] 'soon' is no duration (line 1, column 39)
  hint: Write for example '10 minutes' or '1 hour 30 minutes'.
====
SELECT count(*) FROM packets GROUP BY window(ts, '')
----
[bad-duration] '' is no duration (line 1, column 39)
  hint: Write for example '10 minutes' or '1 hour 30 minutes'.
====
SELECT count(*) FROM packets GROUP BY window(ts, 5)
----
[bad-window] the times of a window must be constants (line 1, column 39)
  hint: Write for example '10 minutes'.
====
SELECT count(*) FROM packets GROUP BY window(ts, '10 minutes', length)
----
[bad-window] the times of a window must be constants (line 1, column 39)
  hint: Write for example '10 minutes'.
====
SELECT count(*) FROM packets GROUP BY window(ts, '30 days', '1 millisecond')
----
[bad-window] a row would be in more than 2,000,000 windows (line 1, column 39)
  hint: Use a longer slide.
====
SELECT count(*) FROM packets GROUP BY window(ts, '1 hour', '1 minute', '0 seconds', '5')
----
[bad-window] window takes 2 to 4 arguments, not 5 (line 1, column 39)
  hint: Write window(ts, '10 minutes', '2 minutes').
====
SELECT count(*) FROM packets GROUP BY window(ts, '1 hour'), window(ts, '2 hours')
----
[bad-window] a query has a single window (line 1, column 61)
  hint: Register one query for each window.
====
SELECT count(*) FROM packets GROUP BY window(ts, '1 hour').start
----
[bad-window] window() is not allowed in GROUP BY (line 1, column 39)
  hint: Write it in GROUP BY.
====
SELECT count(*) FROM packets GROUP BY session_window(ts, '5 minutes')
----
[unsupported-clause] SESSION_WINDOW is not supported (line 1, column 39)
====
SELECT count(*) FROM packets GROUP BY window(ts, '200 years')
----
[bad-duration] '200 years' is not a fixed time: months and years differ in length (line 1, column 39)
  hint: Use days or weeks.
====
SELECT count(*) FROM packets GROUP BY window(ts, 'a' || 'b')
----
[bad-window] the times of a window must be constants (line 1, column 39)
  hint: Write for example '10 minutes'.
====
SELECT window(ts, '2 hours'), count(*) FROM packets GROUP BY window(ts, '1 hour')
----
[bad-window] this window is not the one in GROUP BY (line 1, column 8)
  hint: Write the same window(...) in both places, or the word window alone.
====
SELECT window(ts, '1 hour'), count(*) FROM packets GROUP BY saddr
----
[bad-window] this window is not the one in GROUP BY (line 1, column 8)
  hint: Write the same window(...) in both places, or the word window alone.
====
SELECT count(*) FROM packets WHERE window(ts, '1 hour').start > ts
----
[bad-window] window() is not allowed in WHERE (line 1, column 36)
  hint: Write it in GROUP BY.
====
SELECT window > 5 FROM packets GROUP BY window(ts, '1 hour')
----
[wrong-type] 5 (int) cannot be compared with window (window) (line 1, column 8)
  hint: Say what you mean with CAST(... AS ...), or TRY_CAST where some values do not convert.
====
SELECT max(window.start) FROM packets GROUP BY window(ts, '1 hour')
----
[bad-window] the window is not aggregated: it is one and the same for all rows of a group (line 1, column 12)
  hint: Use window.start or window.end itself.
====
SELECT saddr FROM packets [ROWS 1000 SLIDE 100]
----
[unsupported-clause] a window of so many rows (ROWS) is not supported (line 1, column 27)
  hint: Write for example [RANGE 10 MINUTES SLIDE 2 MINUTES], or [UNBOUNDED].
====
SELECT saddr FROM packets [WINDOW 10 MIN SLIDE 2 MIN]
----
[unsupported-clause] a window whose slide is an upper bound ([WINDOW ..]) is not supported (line 1, column 27)
  hint: Write for example [RANGE 10 MINUTES SLIDE 2 MINUTES], or [UNBOUNDED].
====
SELECT saddr FROM packets [RANGE 10 MINUTES
----
[bad-window] the window's bracket is not closed (line 1, column 27)
  hint: Write for example [RANGE 10 MINUTES SLIDE 2 MINUTES], or [UNBOUNDED].
====
SELECT saddr FROM packets []
----
[bad-window] [] is no window (line 1, column 27)
  hint: Write for example [RANGE 10 MINUTES SLIDE 2 MINUTES], or [UNBOUNDED].
====
SELECT saddr FROM packets [RANGE 2 MINUTES SLIDE 10 MINUTES]
----
[bad-window] the slide of a window must not be longer than its range (line 1, column 27)
  hint: Rows between two windows would be lost; swap the two.
====
SELECT saddr FROM packets [RANGE ten MINUTES]
----
[bad-duration] 'ten MINUTES' is no duration (line 1, column 27)
  hint: Write for example '10 minutes' or '1 hour 30 minutes'.
====
SELECT saddr FROM packets [RANGE 1 MINUTE] BEGIN (NOW) END (NOW)
----
[bad-window] a query has a single window (line 1, column 44)
  hint: Leave one of the two out.
====
SELECT saddr, count(*) FROM packets [RANGE 1 MINUTE] GROUP BY saddr, window(ts, '1 minute')
----
[bad-window] a query has a single window (line 1, column 70)
  hint: Register one query for each window.
====
SELECT saddr FROM packets BEGIN (NOW)
----
[bad-window] BEGIN (..) has no END (..) (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT saddr FROM packets BEGIN (NOW) END NOW
----
[bad-window] BEGIN (..) has no END (..) (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT saddr FROM packets BEGIN (tomorrow) END (NOW)
----
[bad-window] (tomorrow) is no moment (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT saddr FROM packets BEGIN (NOW) END (NOW - INTERVAL 1 SECOND)
----
[bad-window] the window ends before it begins (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT saddr FROM packets BEGIN (NOW - INTERVAL -1 SECOND) END (NOW)
----
[bad-window] a window cannot end in the future (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT saddr FROM packets BEGIN ('2026-02-01') END ('2026-01-01')
----
[bad-window] the window ends before it begins (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT saddr FROM packets BEGIN ('2026-02-30') END (NOW)
----
[bad-window] day is out of range for month (line 1, column 27)
  hint: Write for example BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW).
====
SELECT count(*) FROM packets [RANGE 1 MINUTE]
----
[unsupported-clause] an aggregate over a window without GROUP BY is not supported (line 1, column 30)
  hint: Write GROUP BY window(..): it has no row for a window without rows.
