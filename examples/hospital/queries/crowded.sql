-- Wards with more than forty patients in two hours.
SELECT ward, count(*) AS patients, count_if(triage <= 2) AS urgent
FROM arrivals
GROUP BY window(seen_at, '2 hours', '30 minutes'), ward
HAVING count(*) > 40
ORDER BY patients DESC, ward
