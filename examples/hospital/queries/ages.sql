-- Who comes, by age group, day by day.
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS age_group,
       count(*) AS patients, avg(wait_minutes) AS mean_wait, count_if(admitted) AS admitted
FROM arrivals
GROUP BY window(seen_at, '1 day'), CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END
ORDER BY age_group
