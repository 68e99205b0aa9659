-- The same by sender alone: computed from the pairs, not from packets again.
SELECT saddr, sum(length) AS traffic, count(*) AS packets, avg(length) AS mean_length
FROM backbone
GROUP BY window(ts, '5 minutes', '1 minute'), saddr
ORDER BY traffic DESC, saddr
LIMIT 5
