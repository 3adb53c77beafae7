CREATE TABLE t (id INT, name STRING, amount DECIMAL(9,2), day DATE, tags ARRAY<STRING>, inner STRUCT<x: INT>);

INSERT INTO t VALUES (1, 'a', 1.1, DATE'2024-01-01', array('p'), named_struct('x', 1)),
  (2, 'b', NULL, DATE'2024-01-02', NULL, named_struct('x', CAST(NULL AS INT))), (3, NULL, 3.3, NULL, array(), NULL),
  (4, 'd;d', 4.4, DATE'2024-01-04', array('p', 'q'), named_struct('x', 4)), (5, 'it''s', 5.5, DATE'2024-01-05', NULL, NULL);

DELETE FROM t WHERE id = 1;

SELECT id FROM t;

-- null is not equal to anything
DELETE FROM t WHERE name = NULL;

DELETE FROM t WHERE name IS NULL;

DELETE FROM t AS x WHERE x.name = 'it''s';

-- nested
DELETE FROM t WHERE inner.x = 4 AND array_contains(tags, 'q');

SELECT id FROM t;

-- nothing matches: no snapshot
DELETE FROM t WHERE id > 1000;

-- unknown is not true
DELETE FROM t WHERE NULL;

SELECT id FROM t;

DELETE FROM t WHERE no_such_column = 1;

DELETE FROM t WHERE id = 'text';

-- by a subquery
CREATE TABLE gone (id INT);

INSERT INTO gone VALUES (2), (NULL);

INSERT INTO t (id, name) VALUES (6, 'f'), (7, 'g'), (8, 'h');

DELETE FROM t WHERE id IN (SELECT id FROM gone);

-- NOT IN with a null among them is never true
DELETE FROM t WHERE id NOT IN (SELECT id FROM gone);

DELETE FROM t WHERE EXISTS (SELECT 1 FROM gone g WHERE g.id + 4 = t.id);

SELECT id FROM t;

-- one partition of many
CREATE TABLE p (id INT, day DATE) PARTITIONED BY (day);

INSERT INTO p VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02'), (3, DATE'2024-01-02');

DELETE FROM p WHERE day = DATE'2024-01-02' AND id = 3;

SELECT * FROM p;

DELETE FROM p WHERE day = '2024-01-02';

SELECT * FROM p;

-- everything
DELETE FROM p;

SELECT count(*) AS n FROM p;

DELETE FROM missing WHERE id = 1;

-- a column in brackets is a condition
CREATE TABLE flags (flag BOOLEAN, id INT);

INSERT INTO flags VALUES (true, 1), (false, 2), (NULL, 3);

UPDATE flags SET id = id + 10 WHERE (flag);

DELETE FROM flags WHERE (flag);

DELETE FROM flags WHERE (NOT flag);

SELECT * FROM flags;
