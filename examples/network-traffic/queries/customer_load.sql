-- What the customer sends, by the minute, to hold against the load on the backbone.
SELECT sum(length) AS bytes, count(*) AS packets, count(DISTINCT daddr) AS destinations
FROM customer
GROUP BY window(ts, '1 minute')
