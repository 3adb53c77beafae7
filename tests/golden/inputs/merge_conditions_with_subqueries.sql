CREATE TABLE t (id INT, v STRING, n INT);

CREATE TABLE u (id INT, w STRING);

INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', NULL), (4, NULL, 40);

INSERT INTO u VALUES (1, 'x'), (3, 'y'), (NULL, 'z'), (5, NULL);

-- subqueries in the conditions of clauses, which Spark's own MERGE refuses
MERGE INTO t USING u AS s ON t.id = s.id WHEN MATCHED AND s.id IN (SELECT id FROM u WHERE w = 'x') THEN DELETE;

SELECT * FROM t;

MERGE INTO t USING u AS s ON t.id = s.id WHEN MATCHED AND EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND u.w = 'y') THEN
UPDATE SET v = 'exists';

MERGE INTO t USING u AS s ON t.id = s.id WHEN NOT MATCHED AND s.id NOT IN (SELECT id FROM t) THEN INSERT (id, v)
VALUES (s.id, s.w);

SELECT * FROM t;

MERGE INTO t USING u AS s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.n > (SELECT avg(n) FROM t) THEN DELETE;

SELECT * FROM t;

MERGE INTO t USING u AS s ON t.id = s.id AND t.id IN (SELECT id FROM u) WHEN MATCHED THEN UPDATE SET v = 'on';

MERGE INTO t USING u AS s ON t.id = s.id AND t.n = (SELECT max(n) FROM t) WHEN MATCHED THEN DELETE;

SELECT * FROM t;

-- a correlated scalar subquery as value
MERGE INTO t USING u AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = (SELECT max(w) FROM u WHERE u.id = t.id);

SELECT * FROM t;

INSERT INTO t (id) VALUES (9);

-- CTEs that clauses name
WITH c AS (SELECT 9 AS id) MERGE INTO t USING (SELECT 9 AS id) s ON t.id = s.id
WHEN MATCHED AND s.id IN (SELECT id FROM c) THEN UPDATE SET n = (SELECT max(id) FROM c);

SELECT * FROM t WHERE id = 9;

-- a CTE of the target's name stands for itself in the source
WITH t AS (SELECT 9 AS id, 'shadow' AS v) MERGE INTO t USING (SELECT * FROM t) s ON t.id = s.id WHEN MATCHED THEN
UPDATE SET v = s.v;

SELECT * FROM t WHERE id = 9;
