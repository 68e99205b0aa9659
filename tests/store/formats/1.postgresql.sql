-- A catalog of format 1: two queries that run, one that waits, a user-defined aggregate, ten ticks.
CREATE TABLE aggregates (
	name TEXT NOT NULL,
	definition TEXT NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO aggregates VALUES ('geometric_mean', '{"parameters":"x double","statistics":{"s":"sum(ln(x))","n":"count(x)"},"merge":{"s":"sum","n":"sum"},"result":"exp(s / n)"}');
CREATE TABLE garbage (
	path TEXT NOT NULL,
	since TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (path)
);
CREATE INDEX ix_garbage_since ON garbage (since);
INSERT INTO garbage VALUES ('s/node_6cf032ebc334/tick0-0-0.parquet', '2026-11-16 04:31:35.770336+00');
INSERT INTO garbage VALUES ('s/node_6cf032ebc334/tick0-1-0.parquet', '2026-11-16 04:31:35.770336+00');
CREATE TABLE layouts (
	id TEXT NOT NULL,
	definition TEXT NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO layouts VALUES ('l_ae85bf5f56d6', '{"statistics":["s_ee8d27fcde4b","s_ee969c24d028"],"cuts":{},"slicing":[[[1000000,0]],1000000,0,[]]}');
INSERT INTO layouts VALUES ('l_1e91d280dece', '{"statistics":["s_ee8d27fcde4b"],"cuts":{},"slicing":[[[1000000,0]],1000000,0,[]]}');
CREATE TABLE meta (
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (key)
);
INSERT INTO meta VALUES ('format', '1');
INSERT INTO meta VALUES ('revision', '6');
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
INSERT INTO nodes VALUES ('node_6cf032ebc334', 's', '{"running":false,"dimensions":["d_d8c6b4bc020b"],"expressions":["k"],"statistics":["count(*)","sum(n)"],"parent":null,"unit":1000000,"heights":[-9223372036854775808,-9223372036854775808,-9223372036854775808,-9223372036854775808]}', NULL, 0, 9, 892000000);
INSERT INTO nodes VALUES ('node_043a718774c5', 's', '{"running":false,"dimensions":[],"expressions":[],"statistics":["count(*)"],"parent":"node_6cf032ebc334","unit":1000000,"heights":[-9223372036854775808]}', NULL, 0, 9, 892000000);
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
INSERT INTO queries VALUES ('long', 's', 'SELECT k, count(*) AS c, sum(n) AS s FROM s GROUP BY window(ts, ''1000 seconds'', ''1 second''), k', '{"keep":"7 days","eager":false}', 0, -9223372036854775808, 'running', NULL, '2026-11-16 04:31:17.381951+00');
INSERT INTO queries VALUES ('short', 's', 'SELECT count(*) AS c FROM s GROUP BY window(ts, ''10 seconds'')', '{"keep":"7 days","eager":false}', 0, -9223372036854775808, 'running', NULL, '2026-11-16 04:31:17.388788+00');
INSERT INTO queries VALUES ('waiting', 's', 'SELECT k, geometric_mean(n) AS g, ''ü'' AS u FROM s WHERE n > 0 GROUP BY window(ts, ''1 hour''), k', '{"keep":"forever","eager":false}', NULL, NULL, 'registered', NULL, '2026-11-16 05:57:06.600974+00');
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
	PRIMARY KEY (id),
	UNIQUE (path)
);
CREATE INDEX ix_segments_node ON segments (node);
INSERT INTO segments VALUES (9, 'node_6cf032ebc334', 'l_ae85bf5f56d6', 's/node_6cf032ebc334/block0-3-1000.parquet', 'block', '', 0, 0, 3, 0, 392000000, 650, 4144, 'blake2b:eb6562d4808dfab758eac2d0cd33e383');
INSERT INTO segments VALUES (10, 'node_043a718774c5', 'l_1e91d280dece', 's/node_043a718774c5/block0-3-1000.parquet', 'block', '', 0, 0, 3, 0, 392000000, 490, 3228, 'blake2b:7f0b1ec7ee0645cb9cfef3c2e580d21f');
INSERT INTO segments VALUES (17, 'node_6cf032ebc334', 'l_ae85bf5f56d6', 's/node_6cf032ebc334/block0-6-1000.parquet', 'block', '', 0, 3, 6, 256000000, 692000000, 498, 3715, 'blake2b:7ab664a46b9003a5e928f6d19c45ad0d');
INSERT INTO segments VALUES (18, 'node_043a718774c5', 'l_1e91d280dece', 's/node_043a718774c5/block0-6-1000.parquet', 'block', '', 0, 3, 6, 392000000, 692000000, 375, 2839, 'blake2b:2e183cbb1c6a5cc749458de05082e669');
INSERT INTO segments VALUES (21, 'node_6cf032ebc334', 'l_ae85bf5f56d6', 's/node_6cf032ebc334/tick0-8-0.parquet', 'tick', '', 0, 8, 8, 800000000, 900000000, 100, 2584, 'blake2b:6847725acbf01aa08e8a1e21cf8d6465');
INSERT INTO segments VALUES (22, 'node_043a718774c5', 'l_1e91d280dece', 's/node_043a718774c5/tick0-8-1.parquet', 'tick', '', 0, 8, 8, 800000000, 900000000, 100, 1951, 'blake2b:d443878aedb068737f2f2f258c4dd029');
INSERT INTO segments VALUES (25, 'node_043a718774c5', 'l_1e91d280dece', 's/node_043a718774c5/late0-9-2.parquet', 'late', '', 0, 9, 9, 9, 10, 1, 1188, 'blake2b:4e4d8b139e2d72c6d8b355d67d3b8194');
INSERT INTO segments VALUES (26, 'node_6cf032ebc334', 'l_ae85bf5f56d6', 's/node_6cf032ebc334/block0-9-1000.parquet', 'block', '', 0, 6, 9, 12000000, 892000000, 334, 3233, 'blake2b:aa05deda37b232c9f800a5d30052c621');
INSERT INTO segments VALUES (27, 'node_043a718774c5', 'l_1e91d280dece', 's/node_043a718774c5/block0-9-1000.parquet', 'block', '', 0, 6, 9, 12000000, 892000000, 252, 2411, 'blake2b:cd06fb03d70405c4ef87eacb62bc248e');
CREATE TABLE streams (
	name TEXT NOT NULL,
	definition TEXT NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	PRIMARY KEY (name)
);
INSERT INTO streams VALUES ('s', '{"columns":[["ts","timestamp"],["k","string"],["n","int"]],"event_time":"ts","watermark":"5 seconds","source":"parquet","path":"/data/s","options":{}}', '2026-11-16 04:31:17.377224+00');
CREATE TABLE tick_log (
	stream TEXT NOT NULL,
	batch_id BIGINT NOT NULL,
	digest TEXT NOT NULL,
	watermark BIGINT,
	detail TEXT NOT NULL,
	PRIMARY KEY (stream, batch_id)
);
INSERT INTO tick_log VALUES ('s', 0, 'offsets 0', 94000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 1, 'offsets 1', 194000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 2, 'offsets 2', 294000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 3, 'offsets 3', 394000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 4, 'offsets 4', 494000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 5, 'offsets 5', 594000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 6, 'offsets 6', 694000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 7, 'offsets 7', 794000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 8, 'offsets 8', 894000000, '{"rows":100,"late":0}');
INSERT INTO tick_log VALUES ('s', 9, 'offsets 9', 894000000, '{"rows":2,"late":0}');
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
INSERT INTO ticks VALUES ('s', 9, 'fed', 'offsets 9', 894000000, 899000000, '{"rows":902,"timeless":0,"late":0,"ticks":10,"drops":[]}');
SELECT setval('segments_id_seq', 27);
