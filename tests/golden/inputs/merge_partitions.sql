CREATE TABLE t (id INT, kind STRING, day DATE, n INT) PARTITIONED BY (kind);

INSERT INTO t VALUES (1, 'a', DATE'2024-01-01', 1), (2, 'a', DATE'2024-01-02', 2), (3, 'b', DATE'2024-02-01', 3), (4,
NULL, NULL, 4);

-- rows that move to other partitions
MERGE INTO t USING (SELECT * FROM VALUES (1, 'b'), (3, NULL), (4, 'a') AS v(id, kind)) AS s ON t.id = s.id WHEN
MATCHED THEN UPDATE SET kind = s.kind;

SELECT * FROM t;

UPDATE t SET kind = concat(kind, '!') WHERE kind IS NOT NULL;

SELECT kind, count(*) FROM t GROUP BY kind;

-- a partition column in ON
MERGE INTO t USING (SELECT * FROM VALUES ('a!', 2), ('x', 9) AS v(kind, id)) AS s ON t.kind = s.kind AND t.id = s.id
WHEN MATCHED THEN UPDATE SET n = n + 100
WHEN NOT MATCHED THEN INSERT (id, kind) VALUES (s.id, s.kind);

SELECT * FROM t;

-- another partitioning
ALTER TABLE t ADD PARTITION FIELD days(day);

INSERT INTO t VALUES (10, 'c', DATE'2024-03-01', 10);

MERGE INTO t USING (SELECT * FROM VALUES (1, DATE'2024-05-05'), (10, DATE'2024-03-02'), (11, DATE'2024-03-03') AS
v(id, day)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET day = s.day WHEN NOT MATCHED THEN INSERT (id, day) VALUES (s.id, s.day);

SELECT * FROM t;

ALTER TABLE t DROP PARTITION FIELD kind;

ALTER TABLE t ADD PARTITION FIELD bucket(2, id);

MERGE INTO t USING (SELECT * FROM VALUES (1, 'z'), (2, 'z'), (12, 'z') AS v(id, kind)) AS s ON t.id = s.id
WHEN MATCHED AND t.id = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET kind = s.kind WHEN NOT MATCHED THEN INSERT (id,
kind) VALUES (s.id, s.kind)
WHEN NOT MATCHED BY SOURCE AND t.day IS NULL THEN UPDATE SET day = DATE'2024-12-31';

SELECT * FROM t;

UPDATE t SET id = id + 1 WHERE kind IN ('z', 'c');

DELETE FROM t WHERE day >= DATE'2024-05-01';

SELECT * FROM t;

-- columns that come and go
ALTER TABLE t ADD COLUMN extra STRING;

MERGE INTO t USING (SELECT * FROM VALUES (3, 'e') AS v(id, extra)) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET
extra = s.extra;

ALTER TABLE t RENAME COLUMN extra TO more;

MERGE INTO t USING (SELECT * FROM VALUES (3, 'f'), (20, 'g') AS v(id, more)) AS s ON t.id = s.id WHEN MATCHED AND
t.more = 'e' THEN UPDATE SET more = s.more
WHEN NOT MATCHED THEN INSERT (id, more) VALUES (s.id, s.more);

ALTER TABLE t DROP COLUMN n;

ALTER TABLE t ALTER COLUMN id TYPE BIGINT;

MERGE INTO t USING (SELECT * FROM VALUES (3, 30000000000), (20, 4) AS v(id, new)) AS s ON t.id = s.id WHEN MATCHED
THEN UPDATE SET id = s.new;

SELECT * FROM t;

-- clauses of every kind over several files
CREATE TABLE w (id INT, v INT) PARTITIONED BY (truncate(10, id));

INSERT INTO w SELECT CAST(id AS INT), 0 FROM range(30);

INSERT INTO w SELECT CAST(id AS INT) + 30, 1 FROM range(30);

MERGE INTO w USING (SELECT CAST(id * 3 AS INT) AS id FROM range(25)) AS s ON w.id = s.id
WHEN MATCHED AND w.id % 2 = 0 THEN DELETE
WHEN MATCHED AND w.v = 1 THEN UPDATE SET v = 10
WHEN MATCHED THEN UPDATE SET id = w.id + 100
WHEN NOT MATCHED AND s.id % 2 = 0 THEN INSERT (id, v) VALUES (s.id, 50)
WHEN NOT MATCHED THEN INSERT (id) VALUES (-s.id)
WHEN NOT MATCHED BY SOURCE AND w.id % 5 = 0 THEN DELETE
WHEN NOT MATCHED BY SOURCE AND w.id % 7 = 0 THEN UPDATE SET v = w.v - 7;

SELECT v, count(*), min(id), max(id), sum(id) FROM w GROUP BY v;
