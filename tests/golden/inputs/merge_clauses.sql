CREATE TABLE t (id INT, name STRING, qty INT);

CREATE TABLE s (id INT, name STRING, qty INT, op STRING);

INSERT INTO t VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30), (4, NULL, 40);

INSERT INTO s VALUES (1, 'ONE', 11, 'u'), (2, NULL, 0, 'd'), (5, 'five', 50, 'i'), (NULL, 'no key', 0, 'i');

MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.name = s.name, qty = t.qty + s.qty
WHEN NOT MATCHED AND s.id IS NOT NULL THEN INSERT (id, name, qty) VALUES (s.id, s.name, s.qty);

SELECT * FROM t;

-- insert only
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name) VALUES (id, upper(name));

SELECT * FROM t;

-- delete only
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND op = 'i' THEN DELETE;

SELECT * FROM t;

-- update only, by a condition on both sides
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.qty > 10 AND s.op = 'u' THEN UPDATE SET qty = 0;

SELECT * FROM t;

-- the first clause that holds wins
MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.qty = 0 THEN UPDATE SET name = 'first'
WHEN MATCHED AND t.qty >= 0 THEN UPDATE SET name = 'second' WHEN MATCHED THEN DELETE;

SELECT * FROM t;

-- not matched by source, with and without a condition
MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN UPDATE SET qty = qty + 1
WHEN NOT MATCHED BY SOURCE THEN DELETE;

SELECT * FROM t;

-- all three kinds
MERGE INTO t USING s ON t.id = s.id AND s.op <> 'd' WHEN MATCHED THEN UPDATE SET qty = -1
WHEN NOT MATCHED BY TARGET THEN INSERT (id, qty) VALUES (coalesce(s.id, 99), s.qty)
WHEN NOT MATCHED BY SOURCE AND name IS NOT NULL THEN DELETE;

SELECT * FROM t;

-- stars
CREATE TABLE same (qty INT, id INT, name STRING, extra STRING);

INSERT INTO same VALUES (100, 1, 'star', 'x'), (200, 7, 'new', 'y');

MERGE INTO t USING same AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t;

-- a star needs every column of the target in the source
MERGE INTO t USING (SELECT 1 AS id, 'x' AS name) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *;

-- a condition that is null does not match
MERGE INTO t USING (SELECT CAST(NULL AS INT) AS id, 'n' AS name) AS s ON t.id = s.id
WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (-1, s.name);

SELECT * FROM t;

-- null-safe equality does
INSERT INTO t VALUES (NULL, 'nameless', 1);

MERGE INTO t USING (SELECT CAST(NULL AS INT) AS id) AS s ON t.id <=> s.id WHEN MATCHED THEN UPDATE SET name = 'found';

SELECT * FROM t;

-- two source rows for one target row
MERGE INTO t USING (SELECT * FROM VALUES (1, 'a'), (1, 'b') AS v(id, name)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name;

-- two rows match the target's, though a clause applies to one of them alone
MERGE INTO t USING (SELECT * FROM VALUES (1, 'a'), (1, 'b') AS v(id, name)) AS s ON t.id = s.id
WHEN MATCHED AND s.name = 'b' THEN UPDATE SET name = s.name;

SELECT * FROM t WHERE id = 1;

-- clauses that differ count too
MERGE INTO t USING (SELECT * FROM VALUES (1, 'a'), (1, 'b') AS v(id, name)) AS s ON t.id = s.id
WHEN MATCHED AND s.name = 'b' THEN UPDATE SET name = s.name WHEN MATCHED THEN DELETE;

-- an unconditional DELETE may meet a row as often as it will; the row counts once
MERGE INTO t USING (SELECT * FROM VALUES (1), (1), (1), (70) AS v(id)) AS s ON t.id = s.id
WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);

-- nothing to do
MERGE INTO t USING s ON false WHEN MATCHED THEN DELETE;

MERGE INTO t USING s ON t.id = s.key WHEN MATCHED THEN DELETE;

MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET nome = s.name;

MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id);

MERGE INTO t USING s ON t.id = s.id;
