CREATE TABLE t (id INT, v INT, day DATE, PRIMARY KEY (id)) PARTITIONED BY (day);

CREATE TABLE d (a INT DEFAULT 7, b INT DEFAULT 9) TBLPROPERTIES ('format-version'='3');

-- DEFAULT is the column's at its place, and a name where there is no such place
INSERT INTO d SELECT (DEFAULT), 3 UNION ALL SELECT 1, DEFAULT;

INSERT INTO d SELECT 1, coalesce(DEFAULT, 2);

INSERT INTO d SELECT id, DEFAULT FROM range(1) ORDER BY id LIMIT 1;

INSERT INTO d SELECT default, 3 FROM (SELECT 4 AS default);

SELECT * FROM d;

-- values and conditions see one row
MERGE INTO t USING (SELECT 1 AS id, 2 AS v) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (max(s.id), sum(s.v));

UPDATE t SET v = max(v);

INSERT INTO t VALUES (1, 2, null) ON CONFLICT (id) DO UPDATE SET v = stack(2, 1, 2);

DELETE FROM t WHERE max(v) > 0;

-- conditions say the same of a row each time
DELETE FROM t WHERE rand() < 2;

UPDATE t SET v = 1 WHERE uuid() > '';

MERGE INTO t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED AND rand() < 2 THEN DELETE;

UPDATE t SET v = CAST(rand() AS INT) WHERE id = 1;

-- PARTITION names columns by which the table is partitioned as they are, and their constants
INSERT INTO t PARTITION (v = 1) SELECT 1, DATE'2024-01-31';

INSERT INTO t PARTITION (day, v) SELECT 1, 2, DATE'2024-01-31';

INSERT INTO t PARTITION (day = explode(array(DATE'2024-01-31'))) SELECT 1, 2;

INSERT INTO t PARTITION (DAY = '2024-01-31') SELECT 1, 2;

SELECT * FROM t;

-- two parts of one point in time
CREATE TABLE twice (id INT, ts TIMESTAMP) PARTITIONED BY (days(ts), hours(ts));

CREATE OR REPLACE TABLE t PARTITIONED BY (id, id) AS SELECT 1 AS id;
