-- deletes by key become deletes by position: the rows stay what they are
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality');

CALL lake.system.convert_equality_deletes('t');

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');

MERGE INTO t USING (SELECT * FROM VALUES (2, 'B'), (4, 'D') AS s(id, v)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

MERGE INTO t USING (SELECT 2 AS id, 'BB' AS v) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t;

CALL sqlext.system.convert_equality_deletes(table => 't');

SELECT * FROM t;

SELECT content, record_count FROM lake.convert_equality_deletes.t.delete_files;

SELECT operation FROM lake.convert_equality_deletes.t.snapshots ORDER BY committed_at;

-- nothing is left to convert: no commit
CALL lake.system.convert_equality_deletes('t');

-- one that can hit no row is dropped, as no data file is older
CREATE TABLE fresh (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3', 'write.upsert.mode'='equality');

MERGE INTO fresh USING (SELECT 1 AS id, 'a' AS v) AS s ON fresh.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

CALL lake.system.convert_equality_deletes('fresh');

SELECT * FROM fresh;

-- in format version 3 they become vectors
MERGE INTO fresh USING (SELECT 1 AS id, 'b' AS v) AS s ON fresh.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

CALL lake.system.convert_equality_deletes('fresh');

SELECT content, file_format, record_count FROM lake.convert_equality_deletes.fresh.delete_files;

SELECT *, _deleted FROM fresh;

-- a branch by its name or the argument
ALTER TABLE fresh CREATE BRANCH audit;

CALL lake.system.convert_equality_deletes(table => 'fresh', branch => 'audit');

CALL lake.system.convert_equality_deletes(table => 'fresh', branch => 'none');

CALL lake.system.convert_equality_deletes('fresh', 'main', 'id = 1', 'more');

-- a condition chooses the delete files that may hit its rows; each of them goes with all that it hits
CREATE TABLE part (id INT, region STRING, v INT, PRIMARY KEY (id, region)) PARTITIONED BY (region)
TBLPROPERTIES ('write.upsert.mode'='equality');

INSERT INTO part VALUES (1, 'eu', 1), (2, 'eu', 2), (1, 'us', 1), (2, 'us', 2);

UPSERT INTO part VALUES (1, 'eu', 10), (1, 'us', 10);

CALL lake.system.convert_equality_deletes(table => 'part', where => 'region = "eu" AND id < 9');

SELECT partition, content, record_count FROM lake.convert_equality_deletes.part.delete_files ORDER BY content, partition;

SELECT * FROM part;

CALL lake.system.convert_equality_deletes(table => 'part', where => 'region = "asia"');

CALL lake.system.convert_equality_deletes(table => 'part', where => 'continent = "eu"');

CALL lake.system.convert_equality_deletes(table => 'part', where => 'region = ');

CALL lake.system.convert_equality_deletes(table => 'part', where => 'id');

CALL lake.system.convert_equality_deletes(table => 'part', where => 'v IN (SELECT 1)');

SELECT * FROM part;

CALL lake.system.convert_equality_deletes('lake.convert_equality_deletes.nowhere');
