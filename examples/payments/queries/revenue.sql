-- What was paid in each country in every half hour.
SELECT country, sum(amount) FILTER (WHERE status = 'approved') AS amount, count(*) AS payments
FROM payments
GROUP BY window(at, '30 minutes'), country
ORDER BY amount DESC, country
