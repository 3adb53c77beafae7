-- a column with a dot in its name, a struct with a field, and a column that is called as that field
CREATE TABLE t (id INT, `a.b` INT, a STRUCT<b: INT>, b INT);

INSERT INTO t VALUES (1, 2, named_struct('b', 3), 4), (5, 6, named_struct('b', 7), 8);

UPDATE t SET b = 14 WHERE id = 1;

UPDATE t SET `a.b` = 12 WHERE id = 1;

UPDATE t SET a.b = 13 WHERE id = 1;

SELECT * FROM t;

INSERT INTO t (id, `a.b`) VALUES (9, 10);

SELECT max(`a.b`), min(a.b), max(b), count(a.b) FROM t;

SELECT id FROM t WHERE `a.b` = 12;

SELECT id FROM t WHERE a.b = 13;

DELETE FROM t WHERE a.b = 7;

SELECT readable_metrics.`a.b`.upper_bound, readable_metrics.```a.b```.upper_bound FROM column_names.t.files ORDER BY ALL;

ALTER TABLE t RENAME COLUMN `a.b` TO `c.d`;

ALTER TABLE t RENAME COLUMN a.b TO `x.y`;

ALTER TABLE t WRITE ORDERED BY `c.d`, a.`x.y`;

ALTER TABLE t ADD PARTITION FIELD `c.d`;

ALTER TABLE t ADD PARTITION FIELD bucket(4, a.`x.y`);

INSERT INTO t VALUES (20, 21, named_struct('x.y', 22), 23);

SELECT * FROM t ORDER BY id;

SHOW CREATE TABLE t;

-- a path is no column's name
CREATE TABLE u (id INT, a STRUCT<b: INT>, b INT);

INSERT INTO u (id, `a.b`) VALUES (1, 7);

INSERT INTO u (id, a.b) VALUES (1, 7);

ALTER TABLE u ADD PARTITION FIELD `a.b`;

ALTER TABLE u WRITE ORDERED BY `a.b`;

CREATE TABLE v (a STRUCT<b: INT>, id INT) PARTITIONED BY (`a.b`);

CREATE TABLE v (a STRUCT<b: INT>, id INT, PRIMARY KEY (`a.b`));

-- properties name columns as SQL does
CREATE TABLE v (`a.b` INT, c INT, v INT) TBLPROPERTIES ('primary-key' = '`a.b`, c', 'bucket' = '2', 'bucket-key' =
'`a.b`');

INSERT INTO v VALUES (1, 1, 1), (2, 1, 1);

INSERT INTO v VALUES (2, 1, 3);

SELECT * FROM v ORDER BY ALL;

-- names come once, with regard to case where the session has it
CREATE TABLE w AS SELECT 1 AS a, 2 AS a;

CREATE TABLE w AS SELECT 1 AS a, 2 AS A;

CREATE TABLE w AS SELECT array(named_struct('x', 1, 'X', 2)) AS a;

CREATE TABLE w (a STRUCT<x: INT, x: INT>);

CREATE TABLE w (a INT);

ALTER TABLE w ADD COLUMN b MAP<INT, STRUCT<x: INT, X: INT>>;

ALTER TABLE w ADD COLUMNS (b INT, B INT);

CREATE OR REPLACE TABLE w AS SELECT 1 AS a, 2 AS A;

SET spark.sql.caseSensitive = true;

CREATE OR REPLACE TABLE w AS SELECT 1 AS id, 2 AS a, 3 AS A, named_struct('x', 4, 'X', 5) AS s;

INSERT INTO w (id, A, a) VALUES (2, 6, 7);

UPDATE w SET A = 8, s.X = 9 WHERE a = 2;

MERGE INTO w USING (SELECT 2 AS id, 10 AS a, 20 AS A) AS s ON w.id = s.id
WHEN MATCHED THEN UPDATE SET a = s.A + 1 WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a + 1);

SELECT * FROM w ORDER BY ALL;

ALTER TABLE w DROP COLUMN S;

ALTER TABLE w RENAME COLUMN A TO B;

INSERT INTO w (ID) VALUES (3);

SET spark.sql.caseSensitive = false;

-- names of columns that rows have beside the table's own
CREATE TABLE x (`__violated` INT);

CREATE TABLE x AS SELECT 1 AS `__operation`;

ALTER TABLE u ADD COLUMN __sqlext_any INT;

ALTER TABLE u RENAME COLUMN b TO _commit_version;

MERGE INTO u USING (SELECT 1 AS id, 2 AS `__operation`, 3 AS `_file`, 4 AS `_pos`, 5 AS `__clause`) AS s ON u.id = s.id
WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.`__operation` + s.`_file`);

MERGE INTO u USING (SELECT 1 AS id, 2 AS `__operation`, 3 AS `_file`, 4 AS `_pos`, 5 AS `__clause`) AS s ON u.id = s.id
WHEN MATCHED THEN UPDATE SET b = s.`__operation` + s.`_pos` WHEN NOT MATCHED BY SOURCE THEN DELETE;

SELECT * FROM u;
