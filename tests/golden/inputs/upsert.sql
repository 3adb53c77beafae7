-- resolved: the target's keys are read, position deletes are written
CREATE TABLE resolved (id INT, v STRING, n INT, PRIMARY KEY (id));

INSERT INTO resolved VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);

MERGE INTO resolved USING (SELECT * FROM VALUES (2, 'B', 20), (4, 'D', 40) AS s(id, v, n)) AS s ON resolved.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM resolved;

SELECT content, record_count, equality_ids FROM lake.upsert.resolved.files;

-- equality: the target is not read, equality deletes are written
CREATE TABLE equality (id INT, v STRING, n INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality');

INSERT INTO equality VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);

MERGE INTO equality AS t USING (SELECT * FROM VALUES (2, 'B', 20), (4, 'D', 40) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM equality;

SELECT content, record_count, equality_ids FROM lake.upsert.equality.files;

-- the same key again: each upsert replaces the one before
MERGE INTO equality AS t USING (SELECT 2 AS id, 'third' AS v, 200 AS n) AS s ON s.id = t.id
WHEN MATCHED THEN UPDATE SET t.id = s.id, t.v = s.v, t.n = s.n WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (s.id, s.v, s.n);

SELECT * FROM equality;

-- filters and aggregates see the deletes
SELECT count(*) AS n, sum(n) AS total FROM equality WHERE id BETWEEN 2 AND 4;

SELECT v FROM equality WHERE v LIKE 'b%';

-- a key twice in the source
MERGE INTO equality AS t USING (SELECT * FROM VALUES (7, 'x', 1), (7, 'y', 2) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

MERGE INTO resolved AS t USING (SELECT * FROM VALUES (1, 'x', 1), (1, 'y', 2) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

MERGE INTO resolved AS t USING (SELECT * FROM VALUES (7, 'x', 1), (7, 'y', 2) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- a null key
MERGE INTO equality AS t USING (SELECT CAST(NULL AS INT) AS id, 'x' AS v, 1 AS n) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- resolved by a join, since equality deletes decide what is live
ALTER TABLE equality SET TBLPROPERTIES ('write.upsert.mode'='resolved');

MERGE INTO equality AS t USING (SELECT * FROM VALUES (2, 'fourth', 2000), (5, 'E', 50) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM equality;

-- a key twice there: one that is new, one that is not
MERGE INTO equality AS t USING (SELECT * FROM VALUES (7, 'x', 1), (7, 'y', 2), (8, 'z', 3) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

MERGE INTO equality AS t USING (SELECT * FROM VALUES (5, 'x', 1), (5, 'y', 2), (8, 'z', 3) AS s(id, v, n)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- both rows of a key that the table has twice are replaced by the one that comes
INSERT INTO equality VALUES (5, 'again', 51);

MERGE INTO equality AS t USING (SELECT 5 AS id, 'F' AS v, 52 AS n) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM equality;

-- a condition makes it a plain MERGE
MERGE INTO equality AS t USING (SELECT 3 AS id, 'never' AS v, 0 AS n) AS s ON t.id = s.id
WHEN MATCHED AND s.n > t.n THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM equality;

-- delete and update after equality deletes
UPDATE equality SET v = 'updated' WHERE id = 2;

DELETE FROM equality WHERE id = 1;

SELECT * FROM equality;

-- two key columns, partitioned by one of them
CREATE TABLE wide (country STRING, id BIGINT, v STRING, PRIMARY KEY (country, id)) PARTITIONED BY (country)
TBLPROPERTIES ('write.upsert.mode'='equality');

INSERT INTO wide VALUES ('cz', 1, 'a'), ('cz', 2, 'b'), ('de', 1, 'c');

MERGE INTO wide AS t USING (SELECT * FROM VALUES ('cz', 1L, 'A'), ('fr', 1L, 'F') AS s(country, id, v)) AS s
ON t.id = s.id AND t.country = s.country WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM wide;

SELECT content, partition, record_count, equality_ids FROM lake.upsert.wide.files;

-- a key that is a uuid is one key in any spelling
CREATE TABLE by_uuid (id UUID, n INT, PRIMARY KEY (id));

INSERT INTO by_uuid VALUES ('f79c3e09-677c-4bbd-a479-3f349cb785e7', 1);

MERGE INTO by_uuid AS t USING (SELECT 'F79C3E09-677C-4BBD-A479-3F349CB785E7' AS id, 2 AS n) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM by_uuid;

ALTER TABLE by_uuid SET TBLPROPERTIES ('write.upsert.mode'='equality');

MERGE INTO by_uuid AS t USING (SELECT 'F79C3E09677C4BBDA4793F349CB785E7' AS id, 3 AS n) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM by_uuid;
