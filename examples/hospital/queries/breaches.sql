-- The share of waits over four hours, with the aggregate that weft.toml defines.
SELECT ward, over_four_hours(wait_minutes) AS share, count(*) AS patients
FROM arrivals
GROUP BY window(seen_at, '12 hours', '6 hours'), ward
ORDER BY share DESC, ward
