-- How large payments are, exactly: the middle one, the upper end, and the largest with its card.
SELECT median(amount) AS middle, percentile(amount, 0.95) AS upper, max(amount) AS largest,
       max_by(card, amount) AS largest_card
FROM payments
WHERE status = 'approved'
GROUP BY window(at, '1 hour')
