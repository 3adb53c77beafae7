CREATE TABLE t (id INT NOT NULL, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');

-- rows that come in
EXPLAIN INSERT INTO t VALUES (9, 'i');

EXPLAIN INSERT INTO t (id) SELECT id + 10 FROM t;

EXPLAIN INSERT OVERWRITE t SELECT id, upper(v) FROM t;

-- upserts, in whatever words
EXPLAIN UPSERT INTO t VALUES (1, 'A'), (9, 'i');

EXPLAIN INSERT INTO t VALUES (1, 'A') ON CONFLICT (id) DO UPDATE SET v = excluded.v;

EXPLAIN MERGE INTO t USING (SELECT 1 AS id, 'A' AS v) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- one that is none
EXPLAIN INSERT INTO t VALUES (1, 'A') ON CONFLICT (id) DO NOTHING;

EXPLAIN INSERT INTO t VALUES (1, 'A') ON CONFLICT (id) DO UPDATE SET v = concat(t.v, excluded.v);

ALTER TABLE t SET TBLPROPERTIES ('write.upsert.mode'='equality');

EXPLAIN UPSERT INTO t VALUES (1, 'A');

-- changes
EXPLAIN MERGE INTO t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);

EXPLAIN MERGE INTO t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE;

EXPLAIN UPDATE t SET v = 'x' WHERE id = 2;

EXPLAIN DELETE FROM t WHERE v = 'a';

EXPLAIN DELETE FROM t WHERE id BETWEEN 1 AND 4;

EXPLAIN DELETE FROM t;

ALTER TABLE t SET TBLPROPERTIES ('write.delete.mode'='copy-on-write');

EXPLAIN DELETE FROM t WHERE v = 'a';

-- the share of rows decides: it is stored under a name that Iceberg does not read
ALTER TABLE t SET TBLPROPERTIES ('write.delete.mode'='auto', 'write.update.mode'='auto', 'write.merge.mode'='auto');

SHOW TBLPROPERTIES t;

EXPLAIN DELETE FROM t WHERE v = 'a';

EXPLAIN DELETE FROM t WHERE v < 'c';

EXPLAIN UPDATE t SET v = 'x' WHERE v IS NOT NULL;

EXPLAIN UPDATE t SET v = 'x' WHERE id = 100;

EXPLAIN UPDATE t SET v = 'x' WHERE v = 'bb';

EXPLAIN MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 2) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);

ALTER TABLE t SET TBLPROPERTIES ('write.delete.mode'='fast');

-- nothing has happened
SELECT * FROM t ORDER BY id;

CREATE TABLE p (id INT, k STRING) PARTITIONED BY (k) TBLPROPERTIES ('format-version'='1');

EXPLAIN INSERT OVERWRITE p PARTITION (k = 'a') VALUES (1);

EXPLAIN UPDATE p SET id = 2;

-- Spark's own
EXPLAIN INSERT INTO t SELECT nothing FROM t;

EXPLAIN UPSERT INTO p VALUES (1, 'a');
