-- The share of payments that each merchant declines in an hour, every ten minutes.
SELECT merchant,
       count_if(status = 'declined') AS declined,
       round(100 * count_if(status = 'declined') / count(*), 1) AS percent
FROM payments
GROUP BY window(at, '1 hour', '10 minutes'), merchant
HAVING count(*) >= 10
ORDER BY percent DESC, merchant
