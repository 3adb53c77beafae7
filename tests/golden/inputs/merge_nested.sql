CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING, d: BIGINT>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>);

INSERT INTO t VALUES (1, named_struct('a', 1, 'b', named_struct('c', 'one', 'd', 10L)), array(named_struct('x', 1)),
map('k', 1)), (2, named_struct('a', 2, 'b', NULL), NULL, NULL), (3, NULL, NULL, NULL);

INSERT INTO t (id, s) VALUES (11, named_struct('a', 5, 'b', named_struct('c', 'by name', 'd', 1L)));

MERGE INTO t USING (SELECT 11 AS id, 'm' AS c) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.s.b.c = s.c;

MERGE INTO t AS x USING (SELECT 11 AS id, 'm' AS c) AS y ON x.id = y.id WHEN MATCHED THEN UPDATE SET x.s.b.c = y.c,
s.a = s.a + 1;

SELECT * FROM t;

MERGE INTO t AS x USING (SELECT 11 AS id, 'm' AS c) AS y ON x.id = y.id WHEN MATCHED THEN UPDATE SET s.b.c = 'n' WHEN
NOT MATCHED BY SOURCE THEN UPDATE SET s.b.d = id * 2, s.a = NULL;

SELECT * FROM t;

-- an inserted row has no struct to change
MERGE INTO t AS x USING (SELECT 99 AS id, 'm' AS c) AS y ON x.id = y.id WHEN NOT MATCHED THEN INSERT (id, s.a) VALUES
(y.id, 1);

-- structs go by the names of their fields
MERGE INTO t AS x USING (SELECT 98 AS id, named_struct('b', named_struct('d', 5, 'c', 'q'), 'a', 6) AS s) AS y ON x.id
= y.id WHEN NOT MATCHED THEN INSERT (id, s) VALUES (y.id, y.s);

SELECT * FROM t WHERE id = 98;

MERGE INTO t AS x USING (SELECT 98 AS id, named_struct('b', named_struct('d', 6, 'c', 'r'), 'a', 7) AS s, CAST(NULL AS
ARRAY<STRUCT<x: INT>>) AS l, map('a', 1) AS m) AS y ON x.id = y.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED
THEN INSERT *;

SELECT * FROM t WHERE id = 98;

-- in INSERT they go by place
INSERT INTO t SELECT 97, named_struct('b', named_struct('d', 5, 'c', 'q'), 'a', 6), NULL, NULL;

INSERT INTO t (id, s) SELECT 96, named_struct('a', 6, 'b', named_struct('c', 'q', 'd', 5));

INSERT INTO t BY NAME SELECT 95 AS id, named_struct('b', named_struct('d', 5, 'c', 'q'), 'a', 6) AS s;

SELECT * FROM t WHERE id BETWEEN 95 AND 97;

-- a source struct with fewer fields
CREATE TABLE fewer (id INT, s STRUCT<a: INT, b: INT>);

INSERT INTO fewer VALUES (1, named_struct('a', 1, 'b', 2));

SET spark.sql.mergeNestedTypeCoercion.enabled = true;

MERGE INTO fewer t USING (SELECT 1 AS id, named_struct('a', 5) AS s) AS n ON t.id = n.id
WHEN MATCHED THEN UPDATE SET *;

RESET spark.sql.mergeNestedTypeCoercion.enabled;

MERGE INTO fewer t USING (SELECT 1 AS id, named_struct('a', 5) AS s) AS n ON t.id = n.id
WHEN MATCHED THEN UPDATE SET s.a = n.s.a;

SELECT * FROM fewer;
