-- a key for a table that has rows: its columns become required, and one that is ENFORCED holds from now on
CREATE TABLE t (id INT, part STRING, v STRING) TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 'a', 'x'), (2, 'a', 'y'), (2, 'b', 'z'), (3, null, 'n');

ALTER TABLE t ADD PRIMARY KEY (id, part);

ALTER TABLE t ADD PRIMARY KEY (id) ENFORCED;

ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (ID) NOT ENFORCED RELY;

SHOW CREATE TABLE t;

ALTER TABLE t ADD PRIMARY KEY (id);

ALTER TABLE t DROP CONSTRAINT pk;

ALTER TABLE t DROP PRIMARY KEY;

ALTER TABLE t DROP PRIMARY KEY;

ALTER TABLE t DROP PRIMARY KEY IF EXISTS;

DELETE FROM t WHERE v IN ('z', 'n');

ALTER TABLE t ADD PRIMARY KEY (id, part) ENFORCED;

INSERT INTO t VALUES (2, 'a', 'again');

INSERT INTO t VALUES (2, null, 'again');

SHOW CREATE TABLE t;

-- refused
CREATE TABLE u (id INT, d DOUBLE, ids ARRAY<INT>, day DATE) PARTITIONED BY (day)
TBLPROPERTIES ('write.upsert.mode'='equality');

ALTER TABLE u ADD PRIMARY KEY (id);

ALTER TABLE u ADD PRIMARY KEY (d);

ALTER TABLE u ADD PRIMARY KEY (ids);

ALTER TABLE u ADD PRIMARY KEY (nobody);

ALTER TABLE u ADD PRIMARY KEY (id, ID);

ALTER TABLE u CREATE BRANCH b;

ALTER TABLE u ADD PRIMARY KEY (id, day);

ALTER TABLE u.branch_b ADD PRIMARY KEY (id, day);

ALTER TABLE u DROP BRANCH b;

ALTER TABLE u ADD PRIMARY KEY (id, day);

ALTER TABLE u SET TBLPROPERTIES ('format-version'='1');

-- lengths of strings come with new columns, and only grow
ALTER TABLE t ADD COLUMN (code VARCHAR(2) COMMENT 'short', tags ARRAY<VARCHAR(3)>);

INSERT INTO t VALUES (4, 'c', 'ok', 'ab', array('abc'));

INSERT INTO t VALUES (5, 'c', 'no', 'abc', null);

INSERT INTO t VALUES (5, 'c', 'no', 'ab', array('abcd'));

ALTER TABLE t ALTER COLUMN code TYPE VARCHAR(1);

ALTER TABLE t ALTER COLUMN v TYPE VARCHAR(9);

ALTER TABLE t ALTER COLUMN tags TYPE ARRAY<VARCHAR(9)>;

ALTER TABLE t ALTER COLUMN code TYPE VARCHAR(3), tags.element TYPE VARCHAR(4);

INSERT INTO t VALUES (5, 'c', 'fits', 'abc', array('abcd'));

SHOW CREATE TABLE t;

ALTER TABLE t ALTER COLUMN code TYPE STRING;

INSERT INTO t VALUES (6, 'c', 'fits', 'a long one', null);

SELECT * FROM t ORDER BY id;

-- names that every table's rows have beside their columns
CREATE TABLE hidden (id INT, _file STRING);

CREATE TABLE hidden AS SELECT id, _pos FROM t;

ALTER TABLE t ADD COLUMN _Row_Id BIGINT;

ALTER TABLE t RENAME COLUMN v TO _deleted;

ALTER TABLE t ADD COLUMN s STRUCT<_pos: INT>;

-- another key in the place of the table's
CREATE TABLE m (id INT, code STRING, v STRING, PRIMARY KEY (id) ENFORCED) TBLPROPERTIES ('format-version'='2');

INSERT INTO m VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, null, 'z');

ALTER TABLE m MODIFY PRIMARY KEY (code) NOT ENFORCED;

DELETE FROM m WHERE code IS NULL;

ALTER TABLE m MODIFY PRIMARY KEY (code) ENFORCED;

ALTER TABLE m MODIFY PRIMARY KEY (id, code) NOT ENFORCED RELY;

SHOW CREATE TABLE m;

UPSERT INTO m VALUES (1, 'a', 'new'), (1, 'b', 'added');

SELECT * FROM m ORDER BY id, code;

ALTER TABLE m MODIFY PRIMARY KEY (v);

SHOW CREATE TABLE m;

ALTER TABLE m MODIFY COLUMN v STRING;

ALTER TABLE m DROP PRIMARY KEY;

ALTER TABLE m MODIFY PRIMARY KEY (id);

CREATE TABLE mb (id INT, code STRING, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='2');

ALTER TABLE mb MODIFY PRIMARY KEY (code);
