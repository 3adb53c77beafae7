-- Statements that no other area ends with: each shows its condition in docs/errors.md
CREATE TABLE t (id INT, v STRING);
INSERT INTO t VALUES (1, 'a');
INSERT INTO t VALUES (2, 'b');

-- branches, tags and snapshots
ALTER TABLE t CREATE BRANCH audit;
INSERT INTO t VALUES (3, 'c');
INSERT INTO lake.refusals.t.branch_audit VALUES (4, 'd');
CALL lake.system.fast_forward('t', 'main', 'audit');
ALTER TABLE t CREATE TAG release;
CALL lake.system.fast_forward('t', 'release', 'main');
CALL lake.system.expire_snapshots(table => 't', snapshot_ids => array(${snapshot:t:3}));
SELECT * FROM t /*+ OPTIONS('as-of-timestamp'='yesterday') */;

-- changes
SELECT * FROM table_changes('t', ${snapshot:t:1}, ${snapshot:t:2}, 'all');
SELECT * FROM table_changes('t', rand());
CREATE TABLE short (id INT);
INSERT INTO short VALUES (1);
INSERT INTO short VALUES (2);
INSERT INTO short VALUES (3);
CALL lake.system.expire_snapshots(table => 'short', snapshot_ids => array(${snapshot:short:2}));
SELECT * FROM table_changes('short', ${snapshot:short:1});
SET `sqlext.plan.preview-rows` = 1;
PREVIEW DELETE FROM short;
RESET `sqlext.plan.preview-rows`;

-- partitions of INSERT
CREATE TABLE days (id INT, day STRING) PARTITIONED BY (day);
INSERT INTO days PARTITION (day = uuid()) SELECT 1;
INSERT INTO days PARTITION (day = 'monday') (id, day) SELECT 1, 'tuesday';
CREATE TABLE prices (price DECIMAL(4, 2)) PARTITIONED BY (truncate(50, price));
INSERT INTO prices VALUES (-99.99);

-- rows with kinds, and keys
CREATE TABLE feed (id INT, op STRING, PRIMARY KEY (id)) TBLPROPERTIES ('rowkind.field' = 'op');
INSERT OVERWRITE feed VALUES (1, '+I');
CREATE TABLE nested (who STRUCT<id: INT NOT NULL> NOT NULL, v INT);
ALTER TABLE nested SET IDENTIFIER FIELDS who.id;
UPSERT INTO nested SELECT named_struct('id', 1), 1;

-- names
USE spark_catalog.default;
CALL lake.system.rewrite_manifests('t');
USE lake.refusals;
CREATE VIEW commas AS SELECT id AS `a,b` FROM t;
MERGE INTO t USING (SELECT 1 AS key, '{}' AS j) AS s ON t.id = s.key
  WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.key, j:v:id);

-- Spark would store a property that no column follows
ALTER TABLE t DEFAULT COLLATION UTF8_LCASE;

-- OPTIMIZE
CREATE TABLE bucketed (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('bucket' = '2');
OPTIMIZE bucketed ZORDER BY (v);
