-- An alert: cards that pay more than ten times in ten minutes.
SELECT card, count(*) AS payments, sum(amount) AS amount, count(DISTINCT country) AS countries
FROM payments
GROUP BY window(at, '10 minutes', '1 minute'), card
HAVING count(*) > 10
ORDER BY payments DESC, card
