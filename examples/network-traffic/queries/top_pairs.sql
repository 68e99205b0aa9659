-- Q3: the pairs with the most traffic in the last five minutes, every minute.
SELECT saddr, daddr, sum(length) AS traffic
FROM backbone
GROUP BY window(ts, '5 minutes', '1 minute'), saddr, daddr
ORDER BY traffic DESC, saddr, daddr
LIMIT 5
