CREATE TABLE t (day INT, v STRING) PARTITIONED BY (day);

INSERT INTO t VALUES (1, 'a'), (2, 'b');

-- partitions that receive rows are replaced
INSERT INTO t /*+ OPTIONS('overwrite-enabled'='true') */ VALUES (2, 'B'), (3, 'c');

SELECT * FROM t;

INSERT INTO t /*+ OPTIONS('overwrite-enabled'='false') */ VALUES (3, 'd');

EXPLAIN INSERT INTO t /*+ OPTIONS('overwrite-enabled'='true') */ VALUES (2, 'B');

INSERT OVERWRITE t /*+ OPTIONS('overwrite-enabled'='true') */ VALUES (3, 'e');

SELECT * FROM t;

INSERT OVERWRITE t /*+ OPTIONS('overwrite-enabled'='false') */ VALUES (3, 'e');

-- all rows, where there are no partitions
CREATE TABLE u (id INT, v STRING, PRIMARY KEY (id));

INSERT INTO u VALUES (1, 'a');

INSERT INTO u WITH ('overwrite-enabled'='true') VALUES (2, 'b');

SELECT * FROM u;

UPSERT INTO u /*+ OPTIONS('overwrite-enabled'='true') */ VALUES (2, 'b');

INSERT INTO u /*+ OPTIONS('overwrite-enabled'='true') */ VALUES (2, 'b') ON CONFLICT DO NOTHING;

-- tasks
INSERT INTO t /*+ OPTIONS('write-parallelism'='1') */ SELECT CAST(id % 2 AS INT) + 10, 'p' FROM range(0, 10, 1, 4);

SELECT partition.day, count(*) AS files FROM lake.write_options.t.files WHERE partition.day >= 10 GROUP BY 1;

INSERT INTO t /*+ OPTIONS('write-parallelism'='none') */ VALUES (1, 'x');

-- values
INSERT INTO t /*+ OPTIONS('overwrite-enabled'='yes') */ VALUES (1, 'x');

INSERT INTO t /*+ OPTIONS('table-refresh-interval'='1 min') */ VALUES (1, 'x');

INSERT INTO t /*+ OPTIONS('compression-strategy'='speed') */ VALUES (1, 'x');

-- two branches
ALTER TABLE t CREATE BRANCH a;

INSERT INTO lake.write_options.t.branch_a /*+ OPTIONS('branch'='b') */ VALUES (1, 'x');

INSERT INTO lake.write_options.t.branch_a /*+ OPTIONS('branch'='a') */ VALUES (1, 'x');

-- the branch that a statement names comes before the session's
ALTER TABLE t SET TBLPROPERTIES ('write.wap.enabled'='true');

SET spark.wap.branch = audit;

INSERT INTO lake.write_options.t.branch_a VALUES (4, 'named');

INSERT INTO t /*+ OPTIONS('branch'='a') */ VALUES (5, 'by the option');

DELETE FROM lake.write_options.t.branch_a WHERE day < 3;

INSERT INTO t VALUES (6, 'of the session');

SELECT count(*) AS n FROM t;

SELECT * FROM lake.write_options.t.branch_a;

SET spark.wap.id = w1;

INSERT INTO t VALUES (7, 'two');

RESET spark.wap.id;

RESET spark.wap.branch;

SELECT name FROM lake.write_options.t.refs;

-- the target of a change is a table
CREATE OR REPLACE TEMPORARY VIEW t_view AS SELECT * FROM t;

INSERT INTO t_view VALUES (1, 'x');

INSERT OVERWRITE t_view VALUES (1, 'x');

UPSERT INTO t_view VALUES (1, 'x');

DELETE FROM t_view WHERE day = 1;

UPDATE t_view SET v = 'x';

MERGE INTO t_view USING u ON t_view.day = u.id WHEN MATCHED THEN DELETE;

EXPLAIN DELETE FROM t_view;

TRUNCATE TABLE t_view;

DROP VIEW t_view;
