-- Parts that can fail on a row stay behind the parts that cannot, in their own order.
SELECT count(*) AS n FROM packets WHERE port <> 0 AND length / port > 5
----
stream packets
window none
where (not((port = 0)) and (double '5.0' < (cast(length as double) / cast(port as double))))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length / port > 5 AND port <> 0
----
stream packets
window none
where (not((port = 0)) and (double '5.0' < (cast(length as double) / cast(port as double))))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length / port > 5 AND length % port = 1 AND saddr = 'x'
----
stream packets
window none
where ((saddr = 'x') and (double '5.0' < (cast(length as double) / cast(port as double))) and ((length % port) = 1))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length % port = 1 AND length / port > 5 AND saddr = 'x'
----
stream packets
window none
where ((saddr = 'x') and ((length % port) = 1) and (double '5.0' < (cast(length as double) / cast(port as double))))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE length + 1 > 5 AND FALSE
----
stream packets
window none
where (false and (5 < (length + 1)))
select n = count(*) : bigint
====
SELECT count(*) AS n FROM packets WHERE CAST(saddr AS INT) = 5 AND saddr RLIKE '^[0-9]+$'
----
stream packets
window none
where (rlike(saddr, '^[0-9]+$') and (cast(saddr as int) = 5))
select n = count(*) : bigint
