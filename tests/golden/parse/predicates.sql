-- Equivalent predicates are one predicate: spellings of one meaning stand together and have one answer.
SELECT count(*) AS n FROM packets WHERE length > 5 AND port < 3
----
stream packets
window none
where ((5 < length) and (port < 3))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE 3 > port AND 5 < length
----
stream packets
window none
where ((5 < length) and (port < 3))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (length <= 5 OR port >= 3)
----
stream packets
window none
where ((5 < length) and (port < 3))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE port < 3 AND length > 5 AND TRUE AND port < 3
----
stream packets
window none
where ((5 < length) and (port < 3))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length > '5' AND port < 3L
----
stream packets
window none
where ((5 < length) and (port < 3))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto = 6
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE 6 = proto
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto IN (6)
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT proto <> 6
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto == 6 OR proto = 6
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto = 6.0
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto = 6D
----
stream packets
window none
where (proto = 6)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto IN (6, 17, 1)
----
stream packets
window none
where in(proto, 1, 6, 17)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto = 17 OR proto = 1 OR proto IN (6, 1)
----
stream packets
window none
where in(proto, 1, 6, 17)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (proto <> 1 AND proto NOT IN (17, 6))
----
stream packets
window none
where in(proto, 1, 6, 17)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto <> 1 AND proto != 6
----
stream packets
window none
where not(in(proto, 1, 6))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto NOT IN (6, 1, 6)
----
stream packets
window none
where not(in(proto, 1, 6))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (proto = 6 OR proto = 1)
----
stream packets
window none
where not(in(proto, 1, 6))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length BETWEEN 5 AND 10
----
stream packets
window none
where ((5 <= length) and (length <= 10))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length >= 5 AND length <= 10
----
stream packets
window none
where ((5 <= length) and (length <= 10))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (length < 5 OR length > 10)
----
stream packets
window none
where ((5 <= length) and (length <= 10))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE saddr IS NOT NULL
----
stream packets
window none
where not(is_null(saddr))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT saddr IS NULL
----
stream packets
window none
where not(is_null(saddr))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE isnotnull(saddr)
----
stream packets
window none
where not(is_null(saddr))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (saddr <=> NULL)
----
stream packets
window none
where not(is_null(saddr))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE saddr IS DISTINCT FROM NULL
----
stream packets
window none
where not(is_null(saddr))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length + port = 10
----
stream packets
window none
where ((length + port) = 10)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE 10 = port + length
----
stream packets
window none
where ((length + port) = 10)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE port + length IN (10)
----
stream packets
window none
where ((length + port) = 10)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE (proto = 6 AND length > 5) OR FALSE
----
stream packets
window none
where ((5 < length) and (proto = 6))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length > 5 AND (proto = 6 AND TRUE)
----
stream packets
window none
where ((5 < length) and (proto = 6))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE saddr LIKE 'a%' AND NOT daddr LIKE 'b%'
----
stream packets
window none
where (like(saddr, 'a%') and not(like(daddr, 'b%')))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE daddr NOT LIKE 'b%' AND saddr LIKE 'a%'
----
stream packets
window none
where (like(saddr, 'a%') and not(like(daddr, 'b%')))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE 1 = 1
----
stream packets
window none
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE 5 > 3 AND 'a' < 'b'
----
stream packets
window none
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT FALSE OR length > 5
----
stream packets
window none
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE FALSE
----
stream packets
window none
where false
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE 1 > 2
----
stream packets
window none
where false
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length > 5 AND FALSE
----
stream packets
window none
where false
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NULL
----
stream packets
window none
where boolean null
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length = NULL
----
stream packets
window none
where boolean null
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NULL AND NULL
----
stream packets
window none
where boolean null
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto IN (6, NULL)
----
stream packets
window none
where ((proto = 6) or boolean null)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE proto = 6 OR NULL
----
stream packets
window none
where ((proto = 6) or boolean null)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (length IS DISTINCT FROM port)
----
stream packets
window none
where (length <=> port)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE (length IS NOT DISTINCT FROM port)
----
stream packets
window none
where (length <=> port)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE port <=> length
----
stream packets
window none
where (length <=> port)
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE (length IS DISTINCT FROM port)
----
stream packets
window none
where not((length <=> port))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE NOT (port <=> length)
----
stream packets
window none
where not((length <=> port))
select n = count(*) : bigint
