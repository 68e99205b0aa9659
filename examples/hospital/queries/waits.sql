-- How long patients wait, by urgency, over the last six hours, every hour.
SELECT triage, median(wait_minutes) AS middle, percentile(wait_minutes, 0.9) AS long, max(wait_minutes) AS longest
FROM arrivals
GROUP BY window(seen_at, '6 hours', '1 hour'), triage
ORDER BY triage
