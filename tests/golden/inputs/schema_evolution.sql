CREATE TABLE t (id INT, name STRING, point STRUCT<x: INT>, PRIMARY KEY (id) NOT ENFORCED);

INSERT INTO t VALUES (1, 'a', named_struct('x', 1)), (2, 'b', NULL);

-- columns by position, wider types
INSERT WITH SCHEMA EVOLUTION INTO t SELECT 3, 'c', named_struct('x', 3000000000, 'y', 'new'), 0.5D AS ratio;

DESCRIBE t;

-- by name
INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT true AS flag, 4 AS id;

INSERT WITH SCHEMA EVOLUTION INTO t (id, tags) VALUES (5, array('p', 'q'));

SELECT * FROM t ORDER BY id;

-- without it columns are refused
INSERT INTO t BY NAME SELECT 6 AS id, 1 AS more;

INSERT INTO t SELECT 6, 'f', NULL, 1.0D, true, NULL, 1 AS more;

-- a star takes all columns over; what the source lacks is kept, or null
MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 1 AS id, 'merged' AS name, DATE'2024-01-01' AS day UNION ALL SELECT 6, 'six', NULL) AS s
ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT id, name, ratio, day FROM t ORDER BY id;

-- named columns only those
MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 2 AS id, 7L AS score, 'not taken' AS other) AS s
ON t.id = s.id WHEN MATCHED THEN UPDATE SET score = s.score;

SELECT id, name, score FROM t ORDER BY id;

-- an upsert of all columns and a new one
MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT id, name, point, ratio, flag, tags, day, score, id * 10 AS ten FROM t WHERE id < 3) AS s
ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT id, ten FROM t ORDER BY id;

MERGE INTO t USING (SELECT 1 AS id, 1 AS unknown) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET unknown = s.unknown;

INSERT OVERWRITE t SELECT id, name, point, ratio, flag, tags, day, score, ten FROM t WHERE id = 1;

-- no older snapshot changed
SELECT * FROM t VERSION AS OF ${snapshot:t:1} ORDER BY id;

SELECT operation, count(*) FROM lake.schema_evolution.t.snapshots GROUP BY operation ORDER BY operation;
