-- A catalog of format 4: three queries that run, one that waits, dead letters, eight ticks, a plan, forms.
CREATE TABLE aggregates (
	name TEXT NOT NULL,
	definition TEXT NOT NULL,
	PRIMARY KEY (name)
);
CREATE TABLE dead_letters (
	id BIGSERIAL NOT NULL,
	stream TEXT NOT NULL,
	batch_id BIGINT NOT NULL,
	path TEXT NOT NULL,
	rows BIGINT NOT NULL,
	bytes BIGINT NOT NULL,
	checksum TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (path)
);
CREATE INDEX ix_dead_letters_stream_batch ON dead_letters (stream, batch_id);
INSERT INTO dead_letters VALUES (1, 's', 0, 's/dead/0-c4e4a4c719a5.parquet', 1, 1331, 'blake2b:feef3fac415264c6878837eefeaf7f3a', '2030-01-01 00:00:00.000000+00');
INSERT INTO dead_letters VALUES (2, 's', 2, 's/dead/2-f6b9dd43cb81.parquet', 1, 1331, 'blake2b:2d72ee28713540f9068720681cbed28a', '2030-01-01 00:00:00.000000+00');
INSERT INTO dead_letters VALUES (3, 's', 4, 's/dead/4-b22b9e9d5336.parquet', 1, 1331, 'blake2b:4523b12082bc706298d264b73898fca8', '2030-01-01 00:00:00.000000+00');
INSERT INTO dead_letters VALUES (4, 's', 6, 's/dead/6-ee594debaf05.parquet', 1, 1330, 'blake2b:481e1c39f193c5f692b538d29140b384', '2030-01-01 00:00:00.000000+00');
SELECT setval('dead_letters_id_seq', 4);
CREATE TABLE forms (
	query TEXT NOT NULL,
	format INTEGER NOT NULL,
	digest TEXT NOT NULL,
	content TEXT NOT NULL,
	PRIMARY KEY (query)
);
INSERT INTO forms VALUES ('by_group', 1, '258b385572f6614653c78a4ac0683967', '{"is":"Query","blocks":[{"is":"Block","feed":"s","window":{"is":"Sliding","range":{"micros":20000000},"slide":{"micros":5000000}},"groups":[{"is":"Column","name":"g","type":{"type":"int"}}],"where":null,"aggregates":[{"is":"Aggregate","function":"max","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"int"}},{"is":"Aggregate","function":"min","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"int"}}]}],"finish":{"is":"Finish","select":[{"is":"SelectItem","name":"upto","expression":{"is":"WindowPart","part":"end"}},{"is":"SelectItem","name":"g","expression":{"is":"Column","name":"g","type":{"type":"int"}}},{"is":"SelectItem","name":"least","expression":{"is":"Aggregate","function":"min","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"int"}}},{"is":"SelectItem","name":"most","expression":{"is":"Aggregate","function":"max","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"int"}}}]}}');
INSERT INTO forms VALUES ('by_key', 1, '4de6e3fbeda01ccce702d9962447b77a', '{"is":"Query","blocks":[{"is":"Block","feed":"s","window":{"is":"Sliding","range":{"micros":4000000},"slide":{"micros":2000000}},"groups":[{"is":"Column","name":"k","type":{"type":"string"}}],"where":null,"aggregates":[{"is":"Aggregate","function":"count","arguments":[],"type":{"type":"bigint"}},{"is":"Aggregate","function":"sum","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"bigint"}}]}],"finish":{"is":"Finish","select":[{"is":"SelectItem","name":"upto","expression":{"is":"WindowPart","part":"end"}},{"is":"SelectItem","name":"k","expression":{"is":"Column","name":"k","type":{"type":"string"}}},{"is":"SelectItem","name":"n","expression":{"is":"Aggregate","function":"count","arguments":[],"type":{"type":"bigint"}}},{"is":"SelectItem","name":"total","expression":{"is":"Aggregate","function":"sum","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"bigint"}}}]}}');
INSERT INTO forms VALUES ('totals', 1, '2950d462f768a00d4243d64ecb229502', '{"is":"Query","blocks":[{"is":"Block","feed":"s","window":{"is":"Running"},"groups":[{"is":"Column","name":"k","type":{"type":"string"}}],"where":null,"aggregates":[{"is":"Aggregate","function":"sum","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"bigint"}}]}],"finish":{"is":"Finish","select":[{"is":"SelectItem","name":"k","expression":{"is":"Column","name":"k","type":{"type":"string"}}},{"is":"SelectItem","name":"total","expression":{"is":"Aggregate","function":"sum","arguments":[{"is":"Column","name":"v","type":{"type":"int"}}],"type":{"type":"bigint"}}}]}}');
INSERT INTO forms VALUES ('waiting', 1, '628e689096d8d7596a599660b816bdf0', '{"is":"Query","blocks":[{"is":"Block","feed":"s","window":{"is":"Running"},"groups":[{"is":"Column","name":"k","type":{"type":"string"}}],"where":null,"aggregates":[{"is":"Aggregate","function":"count","arguments":[],"type":{"type":"bigint"}}]}],"finish":{"is":"Finish","select":[{"is":"SelectItem","name":"k","expression":{"is":"Column","name":"k","type":{"type":"string"}}},{"is":"SelectItem","name":"n","expression":{"is":"Aggregate","function":"count","arguments":[],"type":{"type":"bigint"}}}]}}');
CREATE TABLE garbage (
	path TEXT NOT NULL,
	since TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (path)
);
CREATE INDEX ix_garbage_since ON garbage (since);
INSERT INTO garbage VALUES ('s/node_0093d727baf28c9aa8301e25/tick0-0-f0a04868f091.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_0093d727baf28c9aa8301e25/tick0-1-17d232f9f87d.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_0093d727baf28c9aa8301e25/tick0-2-d3984732b09a.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_0093d727baf28c9aa8301e25/tick0-3-776e7fcc72be.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_0093d727baf28c9aa8301e25/tick0-4-ead62a6f1769.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_4b0f738a3f580e1473eca4be/tick0-0-6a4c3728f88c.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_4b0f738a3f580e1473eca4be/tick0-1-e5731560894b.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_4b0f738a3f580e1473eca4be/tick0-2-2d8a1363aae8.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_4b0f738a3f580e1473eca4be/tick0-3-f9bfdfbefa45.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/node_4b0f738a3f580e1473eca4be/tick0-4-022316db200d.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-0-381bc75da0fb.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-1-1a3db17dfb63.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-2-bf21456607f8.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-3-b7a94f00bb11.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-4-25a6b2c5c550.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-5-02d7b3c604cd.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-6-e4f85fb0b82d.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick0-7-731e9b45af88.parquet', '2030-01-01 00:00:00.000000+00');
INSERT INTO garbage VALUES ('s/running_0093d727baf28c9aa8301e25/tick1-3-c150c427ff3d.parquet', '2030-01-01 00:00:00.000000+00');
CREATE TABLE layouts (
	id TEXT NOT NULL,
	definition TEXT NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO layouts VALUES ('l_b7fa74bd5f2cc7544c1c28d2', '{"statistics":["s_3d919e72217b7522854a9a67","s_ae2ab0b75fce5173c551ade2","s_ee8d27fcde4b2f3ae8335570"],"cuts":{},"slicing":[[[2000000,0],[5000000,0]],1000000,0,[]]}');
INSERT INTO layouts VALUES ('l_d4f382da2bb8a4e6e08d1431', '{"statistics":["s_0260eef52a3eb348edfa8976","s_ee8d27fcde4b2f3ae8335570"],"cuts":{},"slicing":null}');
INSERT INTO layouts VALUES ('l_fcd91cafc53825f34daaceee', '{"statistics":["s_0260eef52a3eb348edfa8976","s_ee8d27fcde4b2f3ae8335570"],"cuts":{},"slicing":[[[2000000,0],[5000000,0]],1000000,0,[]]}');
CREATE TABLE meta (
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (key)
);
INSERT INTO meta VALUES ('format', '4');
INSERT INTO meta VALUES ('revision', '6');
INSERT INTO meta VALUES ('sums', '{"streams": "3bdebfa308e5dbfb40f2713aa657d6b4", "queries": "4c1fdd30e24eaf42f843c86e93eb3049", "aggregates": "00000000000000000000000000000000", "nodes": "cbbe0f092a62691e19a9a9e69a6451dd", "layouts": "acf23ff04a63cb231667056f9bf67c4c", "segments": "cf55b430140115f81b3d703b51c6a822", "plans": "e825f48805f676a399580f8b9f1c7441", "dead_letters": "cf127673782766111eea203f217fac6c", "ticks": "ebd01017d41704f57696e28e8e94fc2b"}');
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
CREATE INDEX ix_nodes_stream ON nodes (stream);
INSERT INTO nodes VALUES ('node_0093d727baf28c9aa8301e25', 's', '{"running":false,"dimensions":["d_d8c6b4bc020b1de441106a44"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":null,"fed":true,"unit":1000000,"heights":[-9223372036854775808]}', NULL, 0, 6, 12000000);
INSERT INTO nodes VALUES ('node_4b0f738a3f580e1473eca4be', 's', '{"running":false,"dimensions":["d_d0d14b9091d55fa9f45fb28f"],"expressions":["g"],"statistics":["max(v)","min(v)","count(*)"],"parent":null,"fed":true,"unit":1000000,"heights":[-9223372036854775808,-9223372036854775808]}', NULL, 0, 6, 12000000);
INSERT INTO nodes VALUES ('running_0093d727baf28c9aa8301e25', 's', '{"running":true,"dimensions":["d_d8c6b4bc020b1de441106a44"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":"node_0093d727baf28c9aa8301e25","fed":true,"unit":1,"heights":[]}', NULL, 0, -1, -9223372036854775808);
CREATE TABLE plans (
	stream TEXT NOT NULL,
	version BIGINT NOT NULL,
	from_batch BIGINT NOT NULL,
	definition TEXT NOT NULL,
	PRIMARY KEY (stream, version)
);
INSERT INTO plans VALUES ('s', 1, 0, '{"nodes":[{"id":"node_0093d727baf28c9aa8301e25","running":false,"dimensions":["d_d8c6b4bc020b1de441106a44"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":null,"tree":"","windows":["range 4 seconds slide 2 seconds"],"stored":true},{"id":"node_4b0f738a3f580e1473eca4be","running":false,"dimensions":["d_d0d14b9091d55fa9f45fb28f"],"expressions":["g"],"statistics":["max(v)","min(v)","count(*)"],"parent":null,"tree":"","windows":["range 20 seconds slide 5 seconds"],"stored":true},{"id":"running_0093d727baf28c9aa8301e25","running":true,"dimensions":["d_d8c6b4bc020b1de441106a44"],"expressions":["k"],"statistics":["sum(v)","count(*)"],"parent":"node_0093d727baf28c9aa8301e25","tree":"","windows":[],"stored":true}],"retired":[]}');
CREATE TABLE queries (
	name TEXT NOT NULL,
	stream TEXT NOT NULL,
	sql TEXT NOT NULL,
	definition TEXT NOT NULL,
	from_batch BIGINT,
	complete_from BIGINT,
	status TEXT DEFAULT 'registered' NOT NULL,
	status_detail TEXT,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (name)
);
CREATE INDEX ix_queries_stream ON queries (stream);
INSERT INTO queries VALUES ('by_group', 's', 'SELECT window.end AS upto, g, min(v) AS least, max(v) AS most FROM s GROUP BY window(ts, ''20 seconds'', ''5 seconds''), g', '{"keep":"forever","eager":true,"mark":"562953027cce433f9de4dfa1849c2094"}', 0, -9223372036854775808, 'running', NULL, '2030-01-01 00:00:00.000000+00');
INSERT INTO queries VALUES ('by_key', 's', 'SELECT window.end AS upto, k, count(*) AS n, sum(v) AS total FROM s GROUP BY window(ts, ''4 seconds'', ''2 seconds''), k', '{"keep":"1 minute","eager":true,"mark":"f7fc2acc1ee74753b9803f338494e568"}', 0, -9223372036854775808, 'running', NULL, '2030-01-01 00:00:00.000000+00');
INSERT INTO queries VALUES ('totals', 's', 'SELECT k, sum(v) AS total FROM s GROUP BY k', '{"keep":"forever","eager":false,"mark":"c1d4a11666d34d37bc2cefcb26ece553"}', 0, -9223372036854775808, 'running', NULL, '2030-01-01 00:00:00.000000+00');
INSERT INTO queries VALUES ('waiting', 's', 'SELECT k, count(*) AS n FROM s GROUP BY k', '{"keep":"7 days","eager":false,"mark":"bb2a53742f7f4d90a6d05a717940a9d2"}', NULL, NULL, 'registered', NULL, '2030-01-01 00:00:00.000000+00');
CREATE TABLE segments (
	id BIGSERIAL NOT NULL,
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
	plan BIGINT DEFAULT '0' NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (path)
);
CREATE INDEX ix_segments_node ON segments (node);
INSERT INTO segments VALUES (4, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-0-16e1817634f7.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 0, 0, -17999999, 1698244, 10, 2212, 'blake2b:20d6de49746281eb9d888aaa0ec8c7fa', 1);
INSERT INTO segments VALUES (5, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/result0-0-b60db2c76123.parquet', 'result', 'f_517d9c6822b18ebff670eefd', 0, 0, 0, -17999999, 1698244, 10, 2577, 'blake2b:c6481c6d01f94a13360bb1962c4669db', 1);
INSERT INTO segments VALUES (7, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/late0-1-66e8cc986dee.parquet', 'late', '', 0, 1, 1, 1698243, 1698244, 2, 1953, 'blake2b:c4e5ecf00200d7c5512d614795c3a19e', 1);
INSERT INTO segments VALUES (10, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-1-fe010c3974d6.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 1, 1, 1698244, 3495955, 2, 2156, 'blake2b:0136c62657273887833c12a9866dba64', 1);
INSERT INTO segments VALUES (12, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/late0-2-8d78b67e3297.parquet', 'late', '', 0, 2, 2, 3495954, 3495955, 2, 1960, 'blake2b:7e66b941a870b19d2951436df88ee4cc', 1);
INSERT INTO segments VALUES (15, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-2-ae6e1be700a9.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 2, 2, 3495955, 5936962, 3, 2175, 'blake2b:5f33d4bee0d02b87e467094ecc40e9ea', 1);
INSERT INTO segments VALUES (16, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/result0-2-911f77b92738.parquet', 'result', 'f_517d9c6822b18ebff670eefd', 0, 2, 2, 1698244, 5936962, 3, 2530, 'blake2b:e413eaeddf4c70edaa264ad55bde1d6c', 1);
INSERT INTO segments VALUES (18, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/late0-3-3d084ae7829c.parquet', 'late', '', 0, 3, 3, 5936961, 5936962, 2, 1952, 'blake2b:8510fbc7d76b3a43d2b517342cfc6bb8', 1);
INSERT INTO segments VALUES (21, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-3-375b6c70351a.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 3, 3, 5936962, 7674439, 3, 2180, 'blake2b:629916df615564279307d5ea0c1248c0', 1);
INSERT INTO segments VALUES (22, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/block0-3-4ebc76a4de24.parquet', 'block', '', 0, 0, 3, -20000000, 4000000, 34, 2424, 'blake2b:84afee41f230f9a013dccf033f0bb878', 1);
INSERT INTO segments VALUES (23, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/block0-3-889afac1922d.parquet', 'block', '', 0, 0, 3, -32000000, 4000000, 43, 2893, 'blake2b:61d70181b2152b55b0b8c950d8308f8d', 1);
INSERT INTO segments VALUES (26, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/late0-4-705e19877d8a.parquet', 'late', '', 0, 4, 4, 7674438, 7674439, 2, 1952, 'blake2b:03794c73f2472f16a1037effc9e3607d', 1);
INSERT INTO segments VALUES (28, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/late0-4-3410423f16b8.parquet', 'late', '', 0, 4, 4, 7674438, 7674439, 1, 1987, 'blake2b:155d8c85160e581a73f055679eeddb08', 1);
INSERT INTO segments VALUES (30, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-4-ff3574d748d5.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 4, 4, 7674439, 8538935, 3, 2175, 'blake2b:002a22c13263a64a263fffc1147e6a02', 1);
INSERT INTO segments VALUES (31, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/block0-4-4e2147df88d9.parquet', 'block', '', 0, 1, 4, -9000000, 8000000, 14, 2337, 'blake2b:71de5c7108f0f88c0abdd442fd879422', 1);
INSERT INTO segments VALUES (32, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/block0-4-654bf5142ec2.parquet', 'block', '', 0, 1, 4, -9000000, 8000000, 14, 2693, 'blake2b:e6fe3ae05c929166531cbc363399ff2c', 1);
INSERT INTO segments VALUES (33, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/tick0-5-8d9c3719e2f9.parquet', 'tick', '', 0, 5, 5, -9000000, 13000000, 10, 2299, 'blake2b:28f5c0b8cec44a66c3119e269cd6f5ca', 1);
INSERT INTO segments VALUES (34, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/late0-5-f4e7cfb893a5.parquet', 'late', '', 0, 5, 5, 8538934, 8538935, 2, 1960, 'blake2b:4195f5511885df12df17c51f099d6312', 1);
INSERT INTO segments VALUES (35, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/tick0-5-db84838bfdce.parquet', 'tick', '', 0, 5, 5, -9000000, 13000000, 7, 2657, 'blake2b:7059ae1c6f98b23d7297ecd98ab90dd1', 1);
INSERT INTO segments VALUES (37, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-5-9270d5bb0969.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 5, 5, 8538935, 10904247, 3, 2175, 'blake2b:373a5d9ff65a223f357bc1a3ed181c55', 1);
INSERT INTO segments VALUES (38, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/result0-5-d1059c5d431c.parquet', 'result', 'f_517d9c6822b18ebff670eefd', 0, 5, 5, 5936962, 10904247, 3, 2528, 'blake2b:df758f7309b29355cb138845d40870e9', 1);
INSERT INTO segments VALUES (39, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/tick0-6-30940ff60357.parquet', 'tick', '', 0, 6, 6, 8000000, 16000000, 8, 2262, 'blake2b:23af180b9fdfd957cc481cb86276e0dc', 1);
INSERT INTO segments VALUES (40, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/tick0-6-c316bcf495ae.parquet', 'tick', '', 0, 6, 6, 8000000, 16000000, 6, 2628, 'blake2b:037f5a2d6b190c3a93783e9dd2768fbb', 1);
INSERT INTO segments VALUES (42, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-6-c45afda70e4f.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 6, 6, 10904247, 13713800, 3, 2181, 'blake2b:6f85906fbfe905a47bae158354e1518d', 1);
INSERT INTO segments VALUES (43, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/block0-6-93d32caf4af1.parquet', 'block', '', 0, 3, 6, -9000000, 12000000, 20, 2360, 'blake2b:c050f12d6ad807e933cba9cb08f7fa91', 1);
INSERT INTO segments VALUES (44, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/block0-6-780dd9194ba1.parquet', 'block', '', 0, 3, 6, -9000000, 12000000, 19, 2762, 'blake2b:7444d229c356d1ac26940ec4671689f1', 1);
INSERT INTO segments VALUES (45, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/tick0-7-5200c05f46bc.parquet', 'tick', '', 0, 7, 7, -5000000, 18000000, 10, 2301, 'blake2b:d2603542f09f1bd62ee1f8827211f5e3', 1);
INSERT INTO segments VALUES (46, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/late0-7-943b46776d6a.parquet', 'late', '', 0, 7, 7, 13713799, 13713800, 1, 1948, 'blake2b:b5d3f1c7440610540d1940957ae7c2e0', 1);
INSERT INTO segments VALUES (47, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/tick0-7-c77208935dfa.parquet', 'tick', '', 0, 7, 7, -5000000, 18000000, 9, 2674, 'blake2b:aea532b112b8e659504a1e5a7d04f076', 1);
INSERT INTO segments VALUES (49, 'node_0093d727baf28c9aa8301e25', 'l_fcd91cafc53825f34daaceee', 's/node_0093d727baf28c9aa8301e25/result0-7-94e994b6603a.parquet', 'result', 'f_9ffeb4caea442eb45fa2cbeb', 0, 7, 7, 13713800, 15773842, 3, 2176, 'blake2b:3250b59c81e9c8acd674b4a5f7492646', 1);
INSERT INTO segments VALUES (50, 'node_4b0f738a3f580e1473eca4be', 'l_b7fa74bd5f2cc7544c1c28d2', 's/node_4b0f738a3f580e1473eca4be/result0-7-9785a989df41.parquet', 'result', 'f_517d9c6822b18ebff670eefd', 0, 7, 7, 10904247, 15773842, 3, 2529, 'blake2b:047b9a83f52074a981a45ce594a891c8', 1);
INSERT INTO segments VALUES (51, 'running_0093d727baf28c9aa8301e25', 'l_d4f382da2bb8a4e6e08d1431', 's/running_0093d727baf28c9aa8301e25/tick2-7-77a44460bd3a.parquet', 'tick', '', 2, 0, 7, 0, 8, 3, 2241, 'blake2b:5e1ff4c2f177f3c88105dc41cf5dc4d0', 1);
SELECT setval('segments_id_seq', 51);
CREATE TABLE streams (
	name TEXT NOT NULL,
	definition TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO streams VALUES ('s', '{"columns":[["ts","timestamp"],["k","string"],["g","int"],["v","int"]],"event_time":"ts","watermark":"2 seconds","source":"parquet","path":"/in","options":{},"max_ahead":"1 day"}', '2030-01-01 00:00:00.000000+00');
CREATE TABLE tick_log (
	stream TEXT NOT NULL,
	batch_id BIGINT NOT NULL,
	digest TEXT NOT NULL,
	watermark BIGINT,
	detail TEXT NOT NULL,
	PRIMARY KEY (stream, batch_id)
);
INSERT INTO tick_log VALUES ('s', 0, 'offsets 0', 1698243, '{"rows":11,"late":0,"dead":1,"plan":1,"batch_id":0,"jobs":0,"queries":3,"nodes":3,"partial_rows":23,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":140,"node":3,"store":79,"visit":60,"family":2,"derive":30},"committed_at":"2026-11-18T20:55:23.609+00:00","seconds":{"wait":0.0,"open":0.0069,"plan":0.0008,"spark":0.0072,"merge":0.0077,"mend":0.0001,"compute":0.0001,"learn":0.0058,"commit":0.0576,"finish":0.0541,"tend":0.0002,"sweep":0.0005,"tell":0.0003,"other":0.0002}}');
INSERT INTO tick_log VALUES ('s', 1, 'offsets 1', 3495954, '{"rows":10,"late":0,"dead":0,"plan":1,"batch_id":1,"jobs":0,"queries":3,"nodes":3,"partial_rows":22,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":133,"node":3,"store":76,"visit":58,"family":2,"derive":27},"committed_at":"2026-11-18T20:55:23.712+00:00","seconds":{"wait":0.0,"open":0.0002,"plan":0.0036,"spark":0.0004,"merge":0.0123,"mend":0.0,"compute":0.0001,"learn":0.0039,"commit":0.0306,"finish":0.0456,"tend":0.0003,"sweep":0.0005,"tell":0.0004,"other":0.0}}');
INSERT INTO tick_log VALUES ('s', 2, 'offsets 2', 5936961, '{"rows":11,"late":0,"dead":1,"plan":1,"batch_id":2,"jobs":0,"queries":3,"nodes":3,"partial_rows":21,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":126,"node":3,"store":73,"visit":56,"family":2,"derive":24},"committed_at":"2026-11-18T20:55:23.819+00:00","seconds":{"wait":0.0,"open":0.0002,"plan":0.0008,"spark":0.0003,"merge":0.0107,"mend":0.0001,"compute":0.0,"learn":0.0036,"commit":0.0367,"finish":0.052,"tend":0.0003,"sweep":0.0004,"tell":0.0003,"other":0.0003}}');
INSERT INTO tick_log VALUES ('s', 3, 'offsets 3', 7674438, '{"rows":10,"late":0,"dead":0,"plan":1,"batch_id":3,"jobs":0,"queries":3,"nodes":3,"partial_rows":18,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":105,"node":3,"store":62,"visit":46,"family":2,"derive":21},"committed_at":"2026-11-18T20:55:23.966+00:00","seconds":{"wait":0.0,"open":0.0002,"plan":0.0024,"spark":0.0003,"merge":0.0103,"mend":0.0,"compute":0.0,"learn":0.0,"commit":0.0302,"finish":0.0248,"tend":0.0755,"sweep":0.0004,"tell":0.0004,"other":0.0001}}');
INSERT INTO tick_log VALUES ('s', 4, 'offsets 4', 8538934, '{"rows":11,"late":1,"dead":1,"plan":1,"batch_id":4,"jobs":0,"queries":3,"nodes":3,"partial_rows":18,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":105,"node":3,"store":61,"visit":44,"family":2,"derive":24},"committed_at":"2026-11-18T20:55:24.207+00:00","seconds":{"wait":0.0,"open":0.0001,"plan":0.0019,"spark":0.0004,"merge":0.0132,"mend":0.0001,"compute":0.0001,"learn":0.0,"commit":0.0565,"finish":0.0455,"tend":0.1192,"sweep":0.0007,"tell":0.0003,"other":0.0011}}');
INSERT INTO tick_log VALUES ('s', 5, 'offsets 5', 10904246, '{"rows":10,"late":0,"dead":0,"plan":1,"batch_id":5,"jobs":0,"queries":3,"nodes":3,"partial_rows":20,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":119,"node":3,"store":67,"visit":48,"family":2,"derive":30},"committed_at":"2026-11-18T20:55:24.272+00:00","seconds":{"wait":0.0,"open":0.0002,"plan":0.0027,"spark":0.0004,"merge":0.0062,"mend":0.0,"compute":0.0,"learn":0.0,"commit":0.0178,"finish":0.0348,"tend":0.0002,"sweep":0.0004,"tell":0.0003,"other":0.0002}}');
INSERT INTO tick_log VALUES ('s', 6, 'offsets 6', 13713799, '{"rows":11,"late":0,"dead":1,"plan":1,"batch_id":6,"jobs":0,"queries":3,"nodes":3,"partial_rows":17,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":11,"test":11,"group":22,"key":66,"measure":88,"out":98,"node":3,"store":57,"visit":40,"family":2,"derive":24},"committed_at":"2026-11-18T20:55:24.323+00:00","seconds":{"wait":0.0,"open":0.0001,"plan":0.0007,"spark":0.0003,"merge":0.0029,"mend":0.0,"compute":0.0,"learn":0.0,"commit":0.0082,"finish":0.0171,"tend":0.02,"sweep":0.0003,"tell":0.0003,"other":0.0003}}');
INSERT INTO tick_log VALUES ('s', 7, 'offsets 7', 15773841, '{"rows":10,"late":0,"dead":0,"plan":1,"batch_id":7,"jobs":0,"queries":3,"nodes":3,"partial_rows":22,"predicted_seconds":0.2717,"amounts":{"tick":1,"job":1,"read":10,"test":10,"group":20,"key":60,"measure":80,"out":133,"node":3,"store":75,"visit":56,"family":2,"derive":30},"committed_at":"2026-11-18T20:55:24.379+00:00","seconds":{"wait":0.0,"open":0.0002,"plan":0.0002,"spark":0.0003,"merge":0.0061,"mend":0.0,"compute":0.0,"learn":0.0,"commit":0.007,"finish":0.0336,"tend":0.0068,"sweep":0.0003,"tell":0.0003,"other":0.0003}}');
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
INSERT INTO ticks VALUES ('s', 7, 'fed', 'offsets 7', 15773841, 17773841, '{"rows":84,"late":1,"ticks":8,"ahead":0,"learned":{"rows":10.3,"span":2358103,"ticks":8,"groups":{"d_d8c6b4bc020b1de441106a44":3.1,"d_d0d14b9091d55fa9f45fb28f":3.1}},"dead":{"no event time":4},"drops":[[["range 20 seconds slide 5 seconds","range 4 seconds slide 2 seconds"],-10000000]]}');
