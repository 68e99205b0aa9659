-- Q1: the load on the backbone link in every minute in which it is over a threshold.
SELECT sum(length) AS bytes
FROM backbone
GROUP BY window(ts, '1 minute')
HAVING sum(length) > 4000000
