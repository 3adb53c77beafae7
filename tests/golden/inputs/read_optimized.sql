-- data files to which no delete applies
CREATE TABLE t (id INT PRIMARY KEY, part STRING, v STRING)
TBLPROPERTIES ('format-version'='2', 'write-only'='true');

SELECT * FROM lake.read_optimized.t.ro;

INSERT INTO t VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'z');

INSERT INTO t VALUES (4, 'b', 'w');

ALTER TABLE t CREATE TAG v1;

SELECT * FROM lake.read_optimized.t.ro ORDER BY id;

-- the file of the rows 1 to 3 has a deleted row
UPSERT INTO t VALUES (2, 'a', 'new');

SELECT * FROM lake.read_optimized.t.ro ORDER BY id;

SELECT count(*), min(id), max(id) FROM lake.read_optimized.t.ro;

-- whatever the filter: the row 3 is in the same file
SELECT * FROM lake.read_optimized.t.ro WHERE id = 3;

SELECT * FROM lake.read_optimized.t WHERE id = 3;

SELECT count(*) FROM lake.read_optimized.t.ro VERSION AS OF 'v1';

SELECT count(*) FROM lake.read_optimized.t.tag_v1.ro;

-- equality deletes
ALTER TABLE t SET TBLPROPERTIES ('write.upsert.mode'='equality');

UPSERT INTO t VALUES (4, 'b', 'newer');

SELECT * FROM lake.read_optimized.t.ro ORDER BY id;

SELECT * FROM lake.read_optimized.t.ro AS r JOIN lake.read_optimized.t AS t USING (id) ORDER BY id;

CALL lake.system.compact(table => 'read_optimized.t', full => true);

SELECT * FROM lake.read_optimized.t.ro ORDER BY id;

-- only read
INSERT INTO lake.read_optimized.t.ro VALUES (9, 'a', 'x');

UPDATE lake.read_optimized.t.ro SET v = 'x';

DELETE FROM lake.read_optimized.t.ro;

MERGE INTO lake.read_optimized.t.ro USING t AS s ON ro.id = s.id WHEN MATCHED THEN DELETE;

DROP TABLE lake.read_optimized.t.ro;

ALTER TABLE lake.read_optimized.t.ro ADD COLUMN w INT;

SELECT * FROM table_changes('read_optimized.t.ro', 0);

-- as the source of a change of its own table
DELETE FROM t WHERE id NOT IN (SELECT id FROM lake.read_optimized.t.ro WHERE id < 3);

SELECT * FROM t ORDER BY id;
