CREATE TABLE t (id INT, v STRING, n INT);

CREATE TABLE u (id INT, w STRING);

INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', NULL), (4, NULL, 40);

INSERT INTO u VALUES (1, 'x'), (3, 'y'), (NULL, 'z'), (5, NULL);

-- EXISTS and scalar subqueries in the source
MERGE INTO t USING (SELECT id, (SELECT max(w) FROM u) AS w FROM u WHERE EXISTS (SELECT 1 FROM t x WHERE x.id = u.id))
AS s
ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.w;

SELECT * FROM t;

-- a scalar subquery as value
MERGE INTO t USING u AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = (SELECT count(*) FROM u)
WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, (SELECT max(id) FROM u));

SELECT * FROM t;

DELETE FROM t WHERE id IS NULL OR id = 5;

-- a subquery in an inserted value, correlated with the source
MERGE INTO t USING (SELECT 9 AS id) AS s ON t.id = s.id
WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, (SELECT max(w) FROM u WHERE u.id < s.id));

SELECT * FROM t;

-- CTEs
MERGE INTO t USING (WITH c AS (SELECT 9 AS id), d AS (SELECT id, 'cte' AS v FROM c) SELECT * FROM d) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v;

WITH c AS (SELECT 9 AS id, 'outer cte' AS v), d AS (SELECT * FROM c) MERGE INTO t USING d ON t.id = d.id
WHEN MATCHED THEN UPDATE SET v = d.v;

SELECT * FROM t WHERE id = 9;

WITH c(a, b) AS (VALUES (9, 'columns')) MERGE INTO t USING c ON t.id = c.a WHEN MATCHED THEN UPDATE SET v = b;

SELECT * FROM t WHERE id = 9;

-- sources: joins, unions, aggregates, generators
MERGE INTO t USING (SELECT a.id, b.w FROM u a JOIN u b ON a.id = b.id UNION ALL SELECT 77, 'union') s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.w WHEN NOT MATCHED AND s.id > 50 THEN INSERT (id, v) VALUES (s.id, s.w);

MERGE INTO t USING (SELECT explode(array(77, 78)) AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 1
WHEN NOT MATCHED THEN INSERT (id) VALUES (id);

MERGE INTO t USING (SELECT id, count(*) AS c FROM t GROUP BY id HAVING count(*) = 1) s ON t.id = s.id WHEN MATCHED
THEN UPDATE SET n = s.c;

SELECT * FROM t;

MERGE INTO t USING (SELECT id, first(v) AS v FROM t GROUP BY id ORDER BY id LIMIT 1) s ON t.id = s.id WHEN MATCHED
THEN DELETE;

SELECT count(*) FROM t;

MERGE INTO t USING (SELECT * FROM t PIVOT (max(v) FOR n IN (1))) s ON t.id = s.id WHEN MATCHED THEN DELETE;

-- nothing in the source
MERGE INTO t USING (SELECT * FROM u WHERE false) s ON t.id = s.id WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);

MERGE INTO t USING (SELECT * FROM u WHERE false) s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE;

SELECT count(*) FROM t;
