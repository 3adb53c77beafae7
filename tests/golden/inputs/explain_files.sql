CREATE TABLE t (id INT NOT NULL, k STRING, v STRING, PRIMARY KEY (id)) PARTITIONED BY (k) TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 'a', 'x'), (2, 'a', 'y');

INSERT INTO t VALUES (11, 'b', 'x'), (12, 'b', 'y');

INSERT INTO t VALUES (21, 'c', 'x');

UPDATE t SET v = 'z' WHERE id = 1;

-- of four data files two may have the rows, and one delete file applies to them
EXPLAIN UPDATE t SET v = 'w' WHERE k = 'a' AND id < 3;

-- partitions and bounds decide for some files
EXPLAIN DELETE FROM t WHERE id >= 12;

EXPLAIN DELETE FROM t WHERE k = 'b';

-- a source that is a table, and a subquery
CREATE TABLE s (id INT, v STRING);

INSERT INTO s VALUES (2, 'm'), (99, 'n');

EXPLAIN MERGE INTO t USING s ON t.id = s.id AND t.k = 'a' WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, k, v) VALUES (s.id, 'a', s.v);

EXPLAIN DELETE FROM t WHERE id IN (SELECT id FROM s WHERE id > 50);

EXPLAIN INSERT INTO t SELECT id, 'd', v FROM s;

-- overwrites
EXPLAIN INSERT OVERWRITE t PARTITION (k = 'a') SELECT id, v FROM s;

SET spark.sql.sources.partitionOverwriteMode=dynamic;

EXPLAIN INSERT OVERWRITE t SELECT id, 'd', v FROM s;

RESET spark.sql.sources.partitionOverwriteMode;

-- a branch, which has a head of its own
ALTER TABLE t CREATE BRANCH b;

INSERT INTO lake.explain_files.t.branch_b VALUES (31, 'd', 'x');

EXPLAIN UPDATE lake.explain_files.t.branch_b SET v = 'w' WHERE id = 31;

-- more files than the driver plans are counted by manifests
SET `sqlext.plan.planned-files`=2;

EXPLAIN UPDATE t SET v = 'w' WHERE id > 0;

RESET `sqlext.plan.planned-files`;

-- other rules of conflicts: an isolation level, no reruns, a key that is enforced
ALTER TABLE t SET TBLPROPERTIES ('write.update.isolation-level'='snapshot', 'write.conflict.max-reruns'='0');

EXPLAIN UPDATE t SET v = 'w' WHERE id > 11;

ALTER TABLE t SET TBLPROPERTIES ('write.key.enforced'='true');

EXPLAIN INSERT INTO t VALUES (1, 'a', 'x');

-- deletion vectors, and rows that a dotted column names
CREATE TABLE w (id INT NOT NULL, `a.b` DATE, f DOUBLE, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3');

INSERT INTO w VALUES (1, DATE '2024-01-01', 1.5), (2, DATE '2024-02-01', 2.5);

DELETE FROM w WHERE id = 1;

EXPLAIN UPDATE w SET f = 0 WHERE `a.b` = DATE '2024-02-01' OR f IN (2.5, 3.5);

-- a transaction
BEGIN;

EXPLAIN DELETE FROM w WHERE id = 2;

ROLLBACK;

-- an empty table, and one that compacts itself
CREATE TABLE e (id INT NOT NULL, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='false');

EXPLAIN UPSERT INTO e VALUES (1), (2);

EXPLAIN FORMATTED DELETE FROM e WHERE id = 1;
