-- all rows, of a table, of a branch and of a partition; earlier snapshots keep them
CREATE TABLE t (id INT, p INT, q STRING, v STRING, PRIMARY KEY (id, p, q)) PARTITIONED BY (p, q, bucket(2, id))
TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 1, 'a', 'x'), (2, 1, 'b', 'y'), (3, 2, 'a', 'z'), (4, 2, 'b', 'w');

UPDATE t SET v = 'changed' WHERE id = 1;

ALTER TABLE t CREATE BRANCH kept;

TRUNCATE TABLE t PARTITION (p = 1, Q = 'a');

SELECT * FROM t ORDER BY id;

TRUNCATE TABLE t PARTITION (p = 2);

TRUNCATE TABLE t PARTITION (p = 7);

SELECT * FROM t ORDER BY id;

TRUNCATE TABLE lake.truncate.t.branch_kept PARTITION (q = 'b');

SELECT * FROM lake.truncate.t.branch_kept ORDER BY id;

TRUNCATE TABLE lake.truncate.t.branch_kept;

SELECT count(*) FROM lake.truncate.t.branch_kept;

TRUNCATE TABLE t;

SELECT count(*) FROM t;

SELECT count(*) FROM t VERSION AS OF ${snapshot:t:1};

SELECT operation, summary['deleted-data-files'] FROM lake.truncate.t.snapshots ORDER BY committed_at;

-- rows of a file that was written before the table was partitioned
CREATE TABLE evolved (id INT, p INT) TBLPROPERTIES ('format-version'='1');

TRUNCATE TABLE evolved;

INSERT INTO evolved VALUES (1, 1), (2, 2), (3, NULL);

ALTER TABLE evolved ADD PARTITION FIELD p;

INSERT INTO evolved VALUES (4, 1), (5, NULL);

TRUNCATE TABLE evolved PARTITION (p = '1');

SELECT * FROM evolved ORDER BY id;

TRUNCATE TABLE evolved PARTITION (p = NULL);

SELECT * FROM evolved ORDER BY id;

-- in a transaction
BEGIN;

TRUNCATE TABLE evolved;

SELECT count(*) FROM evolved;

ROLLBACK;

SELECT count(*) FROM evolved;

-- refused
TRUNCATE TABLE t PARTITION (id = 1);

TRUNCATE TABLE t PARTITION (nobody = 1);

TRUNCATE TABLE t PARTITION (p);

TRUNCATE TABLE t PARTITION (p = 'one');

TRUNCATE TABLE t PARTITION (p = 1, P = 2);

TRUNCATE TABLE t WHERE id = 1;

TRUNCATE TABLE lake.truncate.t.snapshots;

TRUNCATE TABLE no_such_table;
