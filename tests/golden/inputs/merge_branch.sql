-- what a branch changed, merged into main by key
CREATE TABLE t (id INT PRIMARY KEY, v STRING, m MAP<STRING, INT>)
TBLPROPERTIES ('format-version'='2', 'write-only'='true');

INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', map('x', 1)), (3, 'c', NULL), (4, 'd', NULL), (5, 'e', NULL), (6, 'f', NULL);

ALTER TABLE t CREATE BRANCH work;

-- a branch without changes
CALL lake.system.merge_branch('merge_branch.t', 'work');

UPDATE lake.merge_branch.t.branch_work SET v = upper(v) WHERE id IN (1, 2, 3);

DELETE FROM lake.merge_branch.t.branch_work WHERE id IN (4, 5);

INSERT INTO lake.merge_branch.t.branch_work VALUES (7, 'new', map('y', 2)), (8, 'theirs', NULL);

-- main changes 2 and 8 otherwise, 3 and 5 to the same, and 6 alone
UPDATE t SET v = 'B!' WHERE id = 2;

UPDATE t SET v = 'C' WHERE id = 3;

DELETE FROM t WHERE id = 5;

UPDATE t SET v = 'F' WHERE id = 6;

INSERT INTO t VALUES (8, 'ours', NULL);

CALL lake.system.merge_branch('merge_branch.t', 'work');

CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'work', conflict => 'report');

SELECT * FROM t ORDER BY id;

CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'work', conflict => 'ours');

SELECT * FROM t ORDER BY id;

-- what was kept by "ours" is merged, and no conflict any more
CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'work', conflict => 'theirs');

UPDATE lake.merge_branch.t.branch_work SET v = 'theirs again' WHERE id IN (2, 8);

UPDATE t SET v = 'ours again' WHERE id = 2;

CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'work', conflict => 'theirs');

SELECT * FROM t ORDER BY id;

-- merged again, it changes nothing
CALL lake.system.merge_branch('merge_branch.t', 'work');

-- into another branch
ALTER TABLE t CREATE BRANCH other;

UPDATE lake.merge_branch.t.branch_work SET v = 'again' WHERE id = 1;

CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'work', `into` => 'other', conflict => 'theirs');

SELECT v FROM lake.merge_branch.t.branch_other WHERE id = 1;

-- refused
CALL lake.system.merge_branch('merge_branch.t', 'absent');

CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'work', conflict => 'best');

CREATE TABLE plain (id INT);

INSERT INTO plain VALUES (1);

ALTER TABLE plain CREATE BRANCH work;

CALL lake.system.merge_branch('merge_branch.plain', 'work');

BEGIN;

UPDATE lake.merge_branch.t.branch_work SET v = 'in a transaction' WHERE id = 7;

CALL lake.system.merge_branch('merge_branch.t', 'work', 'main', 'theirs');

COMMIT;

SELECT v FROM t WHERE id = 7;
