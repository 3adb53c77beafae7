CREATE TABLE t (id INT, n TINYINT, d DECIMAL(5,2), s STRING, at TIMESTAMP, day DATE, b BOOLEAN, bin BINARY, f FLOAT);

INSERT INTO t (id) VALUES (1), (2);

MERGE INTO t USING (SELECT 1 AS id, 5L AS n, 1.239D AS d, 7 AS s, DATE'2024-01-02' AS at, TIMESTAMP'2024-02-03T04:05:06' AS day) AS x
ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n, d = x.d, s = x.s, at = x.at, day = x.day;

SELECT * FROM t;

-- what does not fit is an error
MERGE INTO t USING (SELECT 1 AS id, 500L AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n;

MERGE INTO t USING (SELECT 1 AS id, 12345.6D AS d) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET d = x.d;

MERGE INTO t USING (SELECT 1 AS id, 'x' AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n;

MERGE INTO t USING (SELECT 1 AS id, '12' AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n;

MERGE INTO t USING (SELECT 1 AS id, true AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n;

MERGE INTO t USING (SELECT 1 AS id, 1 AS b) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET b = x.b;

MERGE INTO t USING (SELECT 1 AS id, 'ab' AS bin) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET bin = x.bin;

MERGE INTO t USING (SELECT 1 AS id, X'0041' AS bin, 'y' AS b) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET bin =
x.bin, s = x.bin;

MERGE INTO t USING (SELECT 1 AS id, array(1) AS s) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET s = x.s;

MERGE INTO t USING (SELECT 1 AS id, '2024-01-01' AS day) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET day = x.day;

MERGE INTO t USING (SELECT 3 AS id, 300 AS n) AS x ON t.id = x.id WHEN NOT MATCHED THEN INSERT (id, n) VALUES (x.id,
x.n);

-- not before the row is chosen
MERGE INTO t USING (SELECT 1 AS id, 300 AS n) AS x ON t.id = x.id WHEN MATCHED AND x.n < 100 THEN UPDATE SET n = x.n;

SELECT * FROM t;

-- other rules of assignment
SET spark.sql.storeAssignmentPolicy = LEGACY;

MERGE INTO t USING (SELECT 1 AS id, '12' AS n, 'text' AS d) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n,
d = x.d;

SELECT * FROM t;

SET spark.sql.storeAssignmentPolicy = STRICT;

MERGE INTO t USING (SELECT 1 AS id, 7L AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n;

MERGE INTO t USING (SELECT 1 AS id, CAST(7 AS TINYINT) AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n,
d = 1.25BD;

UPDATE t SET n = 7L;

SET spark.sql.storeAssignmentPolicy = ANSI;

SELECT * FROM t;

-- arithmetic that overflows, with and without ANSI
MERGE INTO t USING (SELECT 1 AS id, 2147483647 AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET id = x.n + 1;

SET spark.sql.ansi.enabled = false;

MERGE INTO t USING (SELECT 1 AS id, 2147483647 AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET id = x.n + 1;

SELECT * FROM t;

UPDATE t SET id = 1 WHERE id < 0;

SET spark.sql.ansi.enabled = true;

-- DEFAULT is null where a column has none
MERGE INTO t USING (SELECT 1 AS id) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = DEFAULT, s = 'kept'
WHEN NOT MATCHED THEN INSERT (id, n) VALUES (x.id, DEFAULT);

MERGE INTO t USING (SELECT 30 AS id) AS x ON t.id = x.id WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (x.id,
DEFAULT, default);

SELECT * FROM t;

-- NULL, untyped
MERGE INTO t USING (SELECT 30 AS id, NULL AS n) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = x.n, d = NULL, s
= NULL;

-- special floats
MERGE INTO t USING (SELECT 30 AS id, double('NaN') AS f) AS x ON t.id = x.id WHEN MATCHED THEN UPDATE SET f = x.f;

MERGE INTO t USING (SELECT float('NaN') AS f) AS x ON t.f = x.f WHEN MATCHED THEN UPDATE SET f = double('-Infinity');

SELECT * FROM t;

-- nulls as keys
INSERT INTO t (id, s) VALUES (NULL, 'null key'), (NULL, 'another');

MERGE INTO t USING (SELECT CAST(NULL AS INT) AS id) AS x ON t.id = x.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN
INSERT (id, s) VALUES (x.id, 'inserted');

SELECT * FROM t WHERE id IS NULL;

MERGE INTO t USING (SELECT CAST(NULL AS INT) AS id) AS x ON t.id <=> x.id AND t.s = 'another' WHEN MATCHED THEN UPDATE
SET s = 'found' WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t WHERE id IS NULL;

MERGE INTO t USING (SELECT CAST(NULL AS INT) AS id) AS x ON t.id <=> x.id WHEN MATCHED THEN DELETE;

SELECT * FROM t WHERE id IS NULL;

MERGE INTO t USING (SELECT NULL AS id) AS x ON t.id <=> x.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT
(id, s) VALUES (x.id, 'void');

SELECT * FROM t WHERE id IS NULL;
