CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id));

-- of a table with no snapshot: a branch begins at one of no files, a tag cannot
ALTER TABLE t CREATE TAG v0;

INSERT INTO t VALUES (1, 'a'), (2, 'b');

INSERT INTO t VALUES (3, 'c');

ALTER TABLE t CREATE TAG `v 1` AS OF VERSION ${snapshot:t:1} RETAIN 7 DAYS;

ALTER TABLE t CREATE BRANCH audit RETAIN 2 HOURS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 30 MINUTES;

ALTER TABLE t CREATE BRANCH IF NOT EXISTS audit AS OF VERSION ${snapshot:t:1};

ALTER TABLE t CREATE OR REPLACE BRANCH old AS OF VERSION ${snapshot:t:1} WITH SNAPSHOT RETENTION 5 DAYS;

ALTER TABLE t CREATE BRANCH audit;

ALTER TABLE t REPLACE TAG audit;

SELECT * FROM lake.branches_and_tags.t.refs;

-- every way to write goes to the branch
INSERT INTO lake.branches_and_tags.t.branch_audit VALUES (4, 'd');

DELETE FROM lake.branches_and_tags.t.branch_audit WHERE branch_audit.id = 1;

UPDATE lake.branches_and_tags.t.branch_audit SET v = upper(v) WHERE id = 2;

MERGE INTO lake.branches_and_tags.t.branch_audit AS b USING (VALUES (4, 'D'), (5, 'e')) AS s(id, v) ON b.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

MERGE INTO lake.branches_and_tags.t.branch_audit AS b USING (SELECT 3 AS id) AS s ON b.id = s.id WHEN MATCHED THEN DELETE;

SELECT * FROM t;

SELECT * FROM lake.branches_and_tags.t.branch_audit ORDER BY id;

SELECT * FROM t VERSION AS OF 'audit' ORDER BY id;

SELECT * FROM lake.branches_and_tags.t.`tag_v 1` ORDER BY id;

SELECT * FROM t VERSION AS OF 'v 1' WHERE id = 1;

SELECT count(*) AS n FROM lake.branches_and_tags.t.snapshot_id_${snapshot:t:2};

-- metadata tables of a branch
SELECT content, record_count FROM lake.branches_and_tags.t.branch_audit.files;

SELECT content, record_count FROM lake.branches_and_tags.t.files VERSION AS OF 'v 1';

INSERT INTO lake.branches_and_tags.t.`tag_v 1` VALUES (9, 'z');

DELETE FROM lake.branches_and_tags.t.branch_none;

SELECT * FROM lake.branches_and_tags.t.tag_audit;

SELECT * FROM lake.branches_and_tags.t.branch_audit VERSION AS OF ${snapshot:t:1};

-- the branch is what is published
CALL lake.system.fast_forward('t', 'main', 'audit');

SELECT * FROM t ORDER BY id;

CALL lake.system.fast_forward(table => 't', branch => 'old', `to` => 'audit');

INSERT OVERWRITE lake.branches_and_tags.t.branch_old SELECT 7, 'seven';

CALL lake.system.fast_forward('t', 'main', 'old');

ALTER TABLE t DROP BRANCH old;

ALTER TABLE t DROP BRANCH main;

ALTER TABLE t DROP TAG IF EXISTS v9;

ALTER TABLE t DROP TAG v9;

ALTER TABLE t CREATE TAG v2 WITH SNAPSHOT RETENTION 3 SNAPSHOTS;

ALTER TABLE t CREATE BRANCH b AS OF VERSION 'main';

SELECT name, type FROM lake.branches_and_tags.t.refs;

CREATE TABLE empty (id INT);

ALTER TABLE empty CREATE BRANCH b RETAIN 1 DAY;

INSERT INTO lake.branches_and_tags.empty.branch_b VALUES (1);

SELECT * FROM empty;

SELECT * FROM lake.branches_and_tags.empty.branch_b;
