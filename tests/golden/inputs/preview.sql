-- PREVIEW: the rows that a statement would change, and their numbers; nothing is committed
CREATE TABLE t (id INT, v STRING, d DECIMAL(5, 1), PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', null), (3, 'c', 3);

PREVIEW INSERT INTO t VALUES (4, 'd', 4);

PREVIEW UPSERT INTO t VALUES (3, 'upserted', 0), (5, 'e', null);

preview /* a comment */ summary
  DELETE FROM t WHERE id > 100;

PREVIEW UPDATE t SET v = upper(v) WHERE id > 1;

PREVIEW WITH gone AS (SELECT 2 AS id) DELETE FROM t WHERE id IN (SELECT id FROM gone);

PREVIEW MERGE INTO t USING (VALUES (1, 'x'), (2, 'y'), (9, 'z')) s (id, v) ON t.id = s.id
  WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
  WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);

PREVIEW INSERT OVERWRITE t VALUES (1, 'only', null);

PREVIEW DELETE FROM t WHERE id > 100;

-- as the statements themselves
PREVIEW MERGE INTO t USING (VALUES (1), (1)) s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'twice';

PREVIEW DELETE FROM t WHERE absent = 1;

PREVIEW DELETE FROM absent;

-- a table without a key has deletes and inserts
CREATE TABLE plain (id INT, v STRING);

INSERT INTO plain VALUES (1, 'a'), (1, 'a'), (2, 'b');

PREVIEW UPDATE plain SET v = 'c' WHERE id = 1;

-- refused
PREVIEW INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 7 AS id, 1 AS more;

PREVIEW TRUNCATE TABLE t;

PREVIEW INSERT INTO t REPLACE WHERE id = 1 VALUES (1, 'a', 1);

PREVIEW DELETE FROM spark_catalog.default.t;

SELECT count(*) FROM lake.preview.t.snapshots;

SELECT * FROM t;
