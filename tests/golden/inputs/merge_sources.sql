CREATE TABLE t (id INT, v STRING, at TIMESTAMP);

INSERT INTO t VALUES (1, 'a', TIMESTAMP'2024-01-01 00:00:00Z'), (2, 'b', NULL);

-- a subquery
MERGE INTO t AS target USING (SELECT id, upper(v) AS v FROM t WHERE id = 1) AS source ON target.id = source.id
WHEN MATCHED THEN UPDATE SET v = source.v;

-- VALUES with column aliases
MERGE INTO t USING (VALUES (2, 'B'), (3, 'C')) AS s(key, text) ON t.id = s.key
WHEN MATCHED THEN UPDATE SET v = text WHEN NOT MATCHED THEN INSERT (id, v) VALUES (key, text);

SELECT * FROM t;

-- a temporary view
CREATE TEMPORARY VIEW merge_source AS SELECT 4 AS id, 'D' AS v, TIMESTAMP'2024-04-04 04:04:04Z' AS at;

MERGE INTO t USING merge_source AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *;

-- a CTE before the statement
WITH latest AS (SELECT id, max(v) AS v FROM VALUES (1, 'x'), (1, 'y'), (5, 'z') AS c(id, v) GROUP BY id)
MERGE INTO t USING latest AS l ON t.id = l.id WHEN MATCHED THEN UPDATE SET v = l.v
WHEN NOT MATCHED THEN INSERT (id, v) VALUES (l.id, l.v);

SELECT * FROM t;

-- a CTE inside the source
MERGE INTO t USING (WITH c AS (SELECT 5 AS id) SELECT * FROM c) AS s ON t.id = s.id WHEN MATCHED THEN DELETE;

-- the target itself
MERGE INTO t USING t AS s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET v = s.v;

SELECT * FROM t;

-- a window function picks the newest change of each key
MERGE INTO t USING (
  SELECT id, v, op FROM (
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY seq DESC) AS rn
    FROM VALUES (1, 'old', 'u', 1), (1, 'new', 'u', 2), (2, 'b', 'u', 1), (2, NULL, 'd', 2), (6, 'f', 'u', 1) AS c(id, v, op, seq)
  ) WHERE rn = 1
) AS s ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT (id, v) VALUES (s.id, s.v);

SELECT * FROM t;

-- quoted names, and text that looks like SQL
CREATE TABLE `odd t` (`the key` INT, `from` STRING);

INSERT INTO `odd t` VALUES (1, 'x');

MERGE INTO `odd t` AS `a b` USING (SELECT 1 AS `the key`, 'WHEN MATCHED THEN DELETE; -- ''no''' AS `from`) AS `c d`
ON `a b`.`the key` = `c d`.`the key` WHEN MATCHED THEN UPDATE SET `from` = `c d`.`from`;

SELECT * FROM `odd t`;

-- a source column may have the target's alias as its name
MERGE INTO t USING (SELECT 3 AS id, 'from s' AS t) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.t;

SELECT * FROM t WHERE id = 3;

-- an old snapshot of the target
MERGE INTO t USING (SELECT * FROM t VERSION AS OF ${snapshot:t:1}) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v, at = s.at WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t;

MERGE INTO t USING missing AS s ON t.id = s.id WHEN MATCHED THEN DELETE;

-- an unqualified column of both sides
MERGE INTO t USING merge_source AS s ON id = id WHEN MATCHED THEN DELETE;
