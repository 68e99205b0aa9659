-- A catalog of format 3: three queries that run, one that waits, dead letters, eight ticks, a plan.
BEGIN TRANSACTION;
CREATE TABLE aggregates (
	name TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE dead_letters (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	stream TEXT NOT NULL, 
	batch_id BIGINT NOT NULL, 
	path TEXT NOT NULL, 
	rows BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	checksum TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	UNIQUE (path)
);
INSERT INTO "dead_letters" VALUES(1,'s',0,'s/dead/0-50200408141c.parquet',1,1331,'blake2b:feef3fac415264c6878837eefeaf7f3a','2030-01-01 00:00:00.000000');
INSERT INTO "dead_letters" VALUES(2,'s',2,'s/dead/2-b5053dd35202.parquet',1,1331,'blake2b:2d72ee28713540f9068720681cbed28a','2030-01-01 00:00:00.000000');
INSERT INTO "dead_letters" VALUES(3,'s',4,'s/dead/4-19a21b673a51.parquet',1,1331,'blake2b:4523b12082bc706298d264b73898fca8','2030-01-01 00:00:00.000000');
INSERT INTO "dead_letters" VALUES(4,'s',6,'s/dead/6-451344bc6c70.parquet',1,1330,'blake2b:481e1c39f193c5f692b538d29140b384','2030-01-01 00:00:00.000000');
CREATE TABLE garbage (
	path TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (path)
);
INSERT INTO "garbage" VALUES('s/node_6cf032ebc334/tick0-0-9be55b7dbdf5.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_d9532643a4b2/tick0-0-aa777c84631c.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-0-f361aefbe70d.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-1-722706114fd4.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-2-bcdcc8efe185.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-3-40057abc07df.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_6cf032ebc334/tick0-1-8b00ac557b17.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_6cf032ebc334/tick0-2-34577dd84b0d.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_d9532643a4b2/tick0-1-fb18d7cd8c28.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_d9532643a4b2/tick0-2-f4dadd6e6dd3.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_6cf032ebc334/tick0-3-5227a079c2f8.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_6cf032ebc334/tick0-4-e41f1a923280.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_d9532643a4b2/tick0-3-eae795bb5d2a.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/node_d9532643a4b2/tick0-4-469ac8d593bb.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-4-a9b3869f909d.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-5-ecb0e77835ef.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-6-ce4f223a099d.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick0-7-ec757fd9ce36.parquet','2030-01-01 00:00:00.000000');
INSERT INTO "garbage" VALUES('s/running_6cf032ebc334/tick1-3-a1f9a4c69ed2.parquet','2030-01-01 00:00:00.000000');
CREATE TABLE layouts (
	id TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "layouts" VALUES('l_afb4dd08f5de','{"statistics":["s_0260eef52a3e","s_ee8d27fcde4b"],"cuts":{},"slicing":[[[2000000,0],[5000000,0]],1000000,0,[]]}');
INSERT INTO "layouts" VALUES('l_f9b770c31029','{"statistics":["s_3d919e72217b","s_ae2ab0b75fce","s_ee8d27fcde4b"],"cuts":{},"slicing":[[[2000000,0],[5000000,0]],1000000,0,[]]}');
INSERT INTO "layouts" VALUES('l_93b5a4928861','{"statistics":["s_0260eef52a3e","s_ee8d27fcde4b"],"cuts":{},"slicing":null}');
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('format','2');
INSERT INTO "meta" VALUES('revision','6');
INSERT INTO "meta" VALUES('sums','{"streams": "3bdebfa308e5dbfb40f2713aa657d6b4", "queries": "611aef1d64e8bd1b2096983eff982585", "aggregates": "00000000000000000000000000000000", "nodes": "a01779a874ad801e70ce6358f56e4761", "layouts": "26b0466a004178a2cc3e83d5e89d2e4d", "segments": "049eb0a157e243ecbdba744c979ecd6a", "dead_letters": "0be7e18c7e7d3152f78062b81aba8dd8", "ticks": "68aa6a7add817888ff11e3a418d1786b"}');
CREATE TABLE nodes (
	id TEXT NOT NULL, 
	stream TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	complete_from BIGINT, 
	created_batch BIGINT NOT NULL, 
	sealed_batch BIGINT NOT NULL, 
	sealed_time BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "nodes" VALUES('node_6cf032ebc334','s','{"running":false,"dimensions":["d_d8c6b4bc020b"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":null,"fed":true,"unit":1000000,"heights":[-9223372036854775808]}',NULL,0,6,12000000);
INSERT INTO "nodes" VALUES('node_d9532643a4b2','s','{"running":false,"dimensions":["d_d0d14b9091d5"],"expressions":["g"],"statistics":["max(v)","min(v)","count(*)"],"parent":null,"fed":true,"unit":1000000,"heights":[-9223372036854775808,-9223372036854775808]}',NULL,0,6,12000000);
INSERT INTO "nodes" VALUES('running_6cf032ebc334','s','{"running":true,"dimensions":["d_d8c6b4bc020b"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":"node_6cf032ebc334","fed":true,"unit":1,"heights":[]}',NULL,0,-1,-9223372036854775808);
CREATE TABLE queries (
	name TEXT NOT NULL, 
	stream TEXT NOT NULL, 
	sql TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	from_batch BIGINT, 
	complete_from BIGINT, 
	status TEXT DEFAULT 'registered' NOT NULL, 
	status_detail TEXT, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "queries" VALUES('by_key','s','SELECT window.end AS upto, k, count(*) AS n, sum(v) AS total FROM s GROUP BY window(ts, ''4 seconds'', ''2 seconds''), k','{"keep":"1 minute","eager":true,"mark":"f5bc6a1a3dc647f5918d817a8b85d841"}',0,-9223372036854775808,'running',NULL,'2030-01-01 00:00:00.000000');
INSERT INTO "queries" VALUES('by_group','s','SELECT window.end AS upto, g, min(v) AS least, max(v) AS most FROM s GROUP BY window(ts, ''20 seconds'', ''5 seconds''), g','{"keep":"forever","eager":true,"mark":"3351f2e34d19470ea03712cb576422c6"}',0,-9223372036854775808,'running',NULL,'2030-01-01 00:00:00.000000');
INSERT INTO "queries" VALUES('totals','s','SELECT k, sum(v) AS total FROM s GROUP BY k','{"keep":"forever","eager":false,"mark":"509aa4152068422ab4cba46c06fe1c45"}',0,-9223372036854775808,'running',NULL,'2030-01-01 00:00:00.000000');
INSERT INTO "queries" VALUES('waiting','s','SELECT k, count(*) AS n FROM s WHERE v > 3 GROUP BY window(ts, ''1 hour''), k','{"keep":"7 days","eager":false,"mark":"128e250589204b00af78f24ea4dcf721"}',NULL,NULL,'registered',NULL,'2030-01-01 00:00:00.000000');
CREATE TABLE segments (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	node TEXT NOT NULL, 
	layout TEXT NOT NULL, 
	path TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	family TEXT NOT NULL, 
	rank INTEGER NOT NULL, 
	batch_from BIGINT NOT NULL, 
	batch_to BIGINT NOT NULL, 
	time_from BIGINT NOT NULL, 
	time_to BIGINT NOT NULL, 
	rows BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	checksum TEXT NOT NULL, 
	UNIQUE (path)
);
INSERT INTO "segments" VALUES(4,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-0-3f75c47b345a.parquet','result','f_6b55abc23302',0,0,0,-17999999,1698244,10,1968,'blake2b:1f1cbdf2b0e774880e6f245b19c35e61');
INSERT INTO "segments" VALUES(5,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/result0-0-6806c3aafa58.parquet','result','f_e73232a65537',0,0,0,-17999999,1698244,10,2289,'blake2b:e4889de4769550fbff80f7d225c268ba');
INSERT INTO "segments" VALUES(7,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/late0-1-8ff68fa5c7c9.parquet','late','',0,1,1,1698243,1698244,2,1873,'blake2b:62a5811f2224f3fd1f1f00aa33be3c87');
INSERT INTO "segments" VALUES(10,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-1-75560bd8e689.parquet','result','f_6b55abc23302',0,1,1,1698244,3495955,2,1912,'blake2b:b5abcba2f2ae03ee5ad1865e561ea42a');
INSERT INTO "segments" VALUES(12,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/late0-2-c52a2751dc6d.parquet','late','',0,2,2,3495954,3495955,2,1880,'blake2b:20b0cbb6ab0e9b7054263fe6933d93d8');
INSERT INTO "segments" VALUES(15,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-2-0fdbb6235670.parquet','result','f_6b55abc23302',0,2,2,3495955,5936962,3,1931,'blake2b:396ecda06a3090791479c4ed964689a9');
INSERT INTO "segments" VALUES(16,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/result0-2-80a8a9fa2047.parquet','result','f_e73232a65537',0,2,2,1698244,5936962,3,2242,'blake2b:69f20f8fb1ec1897af2d96fad21b733e');
INSERT INTO "segments" VALUES(18,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/late0-3-97e14fb1231d.parquet','late','',0,3,3,5936961,5936962,2,1872,'blake2b:9eea0c3049751f1a3624069699f16e69');
INSERT INTO "segments" VALUES(21,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-3-306a269bc7b1.parquet','result','f_6b55abc23302',0,3,3,5936962,7674439,3,1936,'blake2b:6786f2780ec6f396b938f7f10b5897f0');
INSERT INTO "segments" VALUES(22,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/block0-3-68ee71423ad5.parquet','block','',0,0,3,-20000000,4000000,34,2308,'blake2b:61ab2dfb29fb3c68b802ed76daa0003a');
INSERT INTO "segments" VALUES(23,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/block0-3-9dbed23012ef.parquet','block','',0,0,3,-32000000,4000000,43,2733,'blake2b:77e28bd26530d1c47593f2f32c8921e9');
INSERT INTO "segments" VALUES(26,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/late0-4-bfeef42d4ea6.parquet','late','',0,4,4,7674438,7674439,2,1872,'blake2b:964c745c7f9bcfa707e2e9501fb4cbdc');
INSERT INTO "segments" VALUES(28,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/late0-4-c0a6467ad850.parquet','late','',0,4,4,7674438,7674439,1,1907,'blake2b:e948c328ee61fdae43f80d06bedf85a1');
INSERT INTO "segments" VALUES(30,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-4-7be5ff151e21.parquet','result','f_6b55abc23302',0,4,4,7674439,8538935,3,1931,'blake2b:e9d5ce717d98de8a07e635fe00378273');
INSERT INTO "segments" VALUES(31,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/block0-4-f9cea7084f4f.parquet','block','',0,1,4,-9000000,8000000,14,2221,'blake2b:d11481d3677c77213289dea3cce015c2');
INSERT INTO "segments" VALUES(32,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/block0-4-10ec987c7f0b.parquet','block','',0,1,4,-9000000,8000000,14,2533,'blake2b:ec13af90eab9e7b26d1d813b62d36ba0');
INSERT INTO "segments" VALUES(33,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/tick0-5-08bdeb859a82.parquet','tick','',0,5,5,-9000000,13000000,10,2183,'blake2b:93ea1eb773eeaa4aca227e510b66d134');
INSERT INTO "segments" VALUES(34,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/late0-5-83995f8dfb95.parquet','late','',0,5,5,8538934,8538935,2,1880,'blake2b:5b3232095a365914cbe78232a8937b90');
INSERT INTO "segments" VALUES(35,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/tick0-5-d3b8e15f7a3b.parquet','tick','',0,5,5,-9000000,13000000,7,2497,'blake2b:13c3abe00fa9685120c9a9e332b63d75');
INSERT INTO "segments" VALUES(37,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-5-b8d6d6ef3068.parquet','result','f_6b55abc23302',0,5,5,8538935,10904247,3,1931,'blake2b:707a2ac686f79e97c8201f3f5cbbe049');
INSERT INTO "segments" VALUES(38,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/result0-5-87e5cde7835d.parquet','result','f_e73232a65537',0,5,5,5936962,10904247,3,2240,'blake2b:57a5139601bf53ceb7781a2a257cea31');
INSERT INTO "segments" VALUES(39,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/tick0-6-c098b8a6b4bb.parquet','tick','',0,6,6,8000000,16000000,8,2146,'blake2b:0aef141a9f474d5c19f8b041f88be972');
INSERT INTO "segments" VALUES(40,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/tick0-6-76970b692694.parquet','tick','',0,6,6,8000000,16000000,6,2468,'blake2b:fabeeee38de4f0260278c2794f0fc2ab');
INSERT INTO "segments" VALUES(42,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-6-5524be13424b.parquet','result','f_6b55abc23302',0,6,6,10904247,13713800,3,1937,'blake2b:3db80ff521706aaf6c4144555469065f');
INSERT INTO "segments" VALUES(43,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/block0-6-10827b7075f9.parquet','block','',0,3,6,-9000000,12000000,20,2244,'blake2b:40c0feab5408ecc77b264b25a53cc6f0');
INSERT INTO "segments" VALUES(44,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/block0-6-a458b1ec3b9d.parquet','block','',0,3,6,-9000000,12000000,19,2602,'blake2b:9df724c0b5aeef0e94f1f98d972ffd9d');
INSERT INTO "segments" VALUES(45,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/tick0-7-af1c6ee06afd.parquet','tick','',0,7,7,-5000000,18000000,10,2185,'blake2b:16e0f7dd71e4fe518c6cd0734878b569');
INSERT INTO "segments" VALUES(46,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/late0-7-d06f2c6de232.parquet','late','',0,7,7,13713799,13713800,1,1868,'blake2b:78baaeb87adcfb7cb439f52608d4a9e2');
INSERT INTO "segments" VALUES(47,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/tick0-7-c2cc0d84d39e.parquet','tick','',0,7,7,-5000000,18000000,9,2514,'blake2b:54961d37d2936b84297eacd37218b5f8');
INSERT INTO "segments" VALUES(49,'node_6cf032ebc334','l_afb4dd08f5de','s/node_6cf032ebc334/result0-7-4755b691bfea.parquet','result','f_6b55abc23302',0,7,7,13713800,15773842,3,1932,'blake2b:423f5d75aa15fe22928ac1298d495159');
INSERT INTO "segments" VALUES(50,'node_d9532643a4b2','l_f9b770c31029','s/node_d9532643a4b2/result0-7-043f01c5e8b4.parquet','result','f_e73232a65537',0,7,7,10904247,15773842,3,2241,'blake2b:b584ed998e32adfb113e6f1305b2ba12');
INSERT INTO "segments" VALUES(51,'running_6cf032ebc334','l_93b5a4928861','s/running_6cf032ebc334/tick2-7-7a676ce6422e.parquet','tick','',2,0,7,0,8,3,2125,'blake2b:2e0b056c6b8dbbe019eec856208a2572');
CREATE TABLE streams (
	name TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "streams" VALUES('s','{"columns":[["ts","timestamp"],["k","string"],["g","int"],["v","int"]],"event_time":"ts","watermark":"2 seconds","source":"parquet","path":"/in","options":{},"max_ahead":"1 day"}','2030-01-01 00:00:00.000000');
CREATE TABLE tick_log (
	stream TEXT NOT NULL, 
	batch_id BIGINT NOT NULL, 
	digest TEXT NOT NULL, 
	watermark BIGINT, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (stream, batch_id)
);
INSERT INTO "tick_log" VALUES('s',0,'offsets 0',1698243,'{"rows":11,"late":0,"dead":1,"revision":5,"batch_id":0,"jobs":0,"queries":3,"nodes":3,"partial_rows":23,"seconds":{"plan":0.0211,"spark":0.0436,"merge":0.0212,"mend":0.0001,"learn":0.01,"commit":0.1444,"finish":0.2657,"tend":0.0011},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":140,"node":3,"store":79,"visit":60,"family":2,"derive":30},"committed_at":"2026-11-17T02:47:06.578+00:00"}');
INSERT INTO "tick_log" VALUES('s',1,'offsets 1',3495954,'{"rows":10,"late":0,"dead":0,"revision":5,"batch_id":1,"jobs":0,"queries":3,"nodes":3,"partial_rows":22,"seconds":{"plan":0.0591,"spark":0.0005,"merge":0.0647,"mend":0.0,"learn":0.0155,"commit":0.0795,"finish":0.1262,"tend":0.0007},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":133,"node":3,"store":76,"visit":58,"family":2,"derive":27},"committed_at":"2026-11-17T02:47:06.954+00:00"}');
INSERT INTO "tick_log" VALUES('s',2,'offsets 2',5936961,'{"rows":11,"late":0,"dead":1,"revision":5,"batch_id":2,"jobs":0,"queries":3,"nodes":3,"partial_rows":21,"seconds":{"plan":0.0009,"spark":0.0004,"merge":0.0358,"mend":0.0001,"learn":0.0185,"commit":0.0997,"finish":0.2679,"tend":0.0011},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":126,"node":3,"store":73,"visit":56,"family":2,"derive":24},"committed_at":"2026-11-17T02:47:07.408+00:00"}');
INSERT INTO "tick_log" VALUES('s',3,'offsets 3',7674438,'{"rows":10,"late":0,"dead":0,"revision":5,"batch_id":3,"jobs":0,"queries":3,"nodes":3,"partial_rows":18,"seconds":{"plan":0.0187,"spark":0.0006,"merge":0.0347,"mend":0.0,"learn":0.0001,"commit":0.0642,"finish":0.0234,"tend":0.1024},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":105,"node":3,"store":62,"visit":46,"family":2,"derive":21},"committed_at":"2026-11-17T02:47:07.660+00:00"}');
INSERT INTO "tick_log" VALUES('s',4,'offsets 4',8538934,'{"rows":11,"late":1,"dead":1,"revision":5,"batch_id":4,"jobs":0,"queries":3,"nodes":3,"partial_rows":18,"seconds":{"plan":0.0009,"spark":0.0004,"merge":0.0727,"mend":0.0001,"learn":0.0001,"commit":0.1013,"finish":0.1761,"tend":0.1487},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":105,"node":3,"store":61,"visit":44,"family":2,"derive":24},"committed_at":"2026-11-17T02:47:08.164+00:00"}');
INSERT INTO "tick_log" VALUES('s',5,'offsets 5',10904246,'{"rows":10,"late":0,"dead":0,"revision":5,"batch_id":5,"jobs":0,"queries":3,"nodes":3,"partial_rows":20,"seconds":{"plan":0.0183,"spark":0.0005,"merge":0.0487,"mend":0.0,"learn":0.0001,"commit":0.1679,"finish":0.3312,"tend":0.001},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":119,"node":3,"store":67,"visit":48,"family":2,"derive":30},"committed_at":"2026-11-17T02:47:08.735+00:00"}');
INSERT INTO "tick_log" VALUES('s',6,'offsets 6',13713799,'{"rows":11,"late":0,"dead":1,"revision":5,"batch_id":6,"jobs":0,"queries":3,"nodes":3,"partial_rows":17,"seconds":{"plan":0.001,"spark":0.0004,"merge":0.0198,"mend":0.0001,"learn":0.0001,"commit":0.0814,"finish":0.1639,"tend":0.2011},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":98,"node":3,"store":57,"visit":40,"family":2,"derive":24},"committed_at":"2026-11-17T02:47:09.224+00:00"}');
INSERT INTO "tick_log" VALUES('s',7,'offsets 7',15773841,'{"rows":10,"late":0,"dead":0,"revision":5,"batch_id":7,"jobs":0,"queries":3,"nodes":3,"partial_rows":22,"seconds":{"plan":0.0003,"spark":0.0006,"merge":0.0624,"mend":0.0,"learn":0.0001,"commit":0.0559,"finish":0.296,"tend":0.0341},"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":133,"node":3,"store":75,"visit":56,"family":2,"derive":30},"committed_at":"2026-11-17T02:47:09.681+00:00"}');
CREATE TABLE ticks (
	stream TEXT NOT NULL, 
	batch_id BIGINT NOT NULL, 
	checkpoint TEXT NOT NULL, 
	offsets_digest TEXT NOT NULL, 
	watermark BIGINT, 
	max_event_time BIGINT, 
	totals TEXT NOT NULL, 
	PRIMARY KEY (stream)
);
INSERT INTO "ticks" VALUES('s',7,'simulated','offsets 7',15773841,17773841,'{"rows":84,"late":1,"ticks":8,"learned":{"rows":10.3,"span":2358103,"ticks":8,"groups":{"d_d8c6b4bc020b":3.1,"d_d0d14b9091d5":3.1}},"dead":{"no event time":4},"drops":[[["range 20 seconds slide 5 seconds","range 4 seconds slide 2 seconds"],-10000000]]}');
CREATE INDEX ix_queries_stream ON queries (stream);
CREATE INDEX ix_nodes_stream ON nodes (stream);
CREATE INDEX ix_segments_node ON segments (node);
CREATE INDEX ix_dead_letters_stream_batch ON dead_letters (stream, batch_id);
CREATE INDEX ix_garbage_since ON garbage (since);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('dead_letters',4);
INSERT INTO "sqlite_sequence" VALUES('segments',51);
ALTER TABLE segments ADD COLUMN plan BIGINT NOT NULL DEFAULT '0';
CREATE TABLE plans (
	stream TEXT NOT NULL,
	version BIGINT NOT NULL,
	from_batch BIGINT NOT NULL,
	definition TEXT NOT NULL,
	PRIMARY KEY (stream, version)
);
INSERT INTO plans VALUES ('s', 1, 7, '{"nodes":[{"id":"node_6cf032ebc334","running":false,"dimensions":["d_d8c6b4bc020b"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":null,"tree":"","windows":["range 4 seconds slide 2 seconds"],"stored":true}],"retired":[]}');
UPDATE meta SET value = '3' WHERE key = 'format';
DELETE FROM meta WHERE key = 'sums';
COMMIT;
