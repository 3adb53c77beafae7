-- the key's columns become required
CREATE TABLE single (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED);

DESCRIBE TABLE single;

-- column form
CREATE TABLE in_column (id BIGINT PRIMARY KEY, name STRING);

SHOW CREATE TABLE in_column;

-- several columns: a set, which is shown in the table's order
CREATE TABLE pair (day DATE, id INT, v DOUBLE, PRIMARY KEY (id, day)) PARTITIONED BY (day);

SHOW CREATE TABLE pair;

-- a named constraint
CREATE TABLE named (id INT, CONSTRAINT pk_named PRIMARY KEY (id) NOT ENFORCED);

SHOW CREATE TABLE named;

-- a key written in another case than its column
CREATE TABLE cased (Id INT, v STRING, PRIMARY KEY (ID));

SHOW CREATE TABLE cased;

-- null in the key
INSERT INTO single VALUES (1, 'a'), (CAST(NULL AS INT), 'b');

-- nothing of that statement is there
SELECT * FROM single;

-- NOT ENFORCED: a plain INSERT does not look for the key
INSERT INTO single VALUES (1, 'a'), (1, 'again');

SELECT * FROM single;

-- a key must not be a floating number
CREATE TABLE bad_double (id DOUBLE, PRIMARY KEY (id));

-- nor a list
CREATE TABLE bad_list (ids ARRAY<INT>, PRIMARY KEY (ids));

-- nor a column that is not there
CREATE TABLE bad_name (id INT, PRIMARY KEY (key));

-- nor the same column twice
CREATE TABLE bad_twice (id INT, PRIMARY KEY (id, id));

-- nor two keys
CREATE TABLE bad_two (id INT PRIMARY KEY, k INT, PRIMARY KEY (k));

SHOW TABLES;

-- ENFORCED: a key that is there, or that comes twice, is named
CREATE TABLE held (id INT, v STRING, PRIMARY KEY (id) ENFORCED);

INSERT INTO held VALUES (1, 'a'), (2, 'b'), (3, 'c');

INSERT INTO held VALUES (4, 'd'), (2, 'again'), (3, 'again');

INSERT INTO held VALUES (4, 'd'), (4, 'again');

INSERT INTO held SELECT CAST(id AS INT), 'many' FROM range(3, 1000);

-- a row that goes makes room for its key
DELETE FROM held WHERE id = 2;

INSERT INTO held VALUES (2, 'new');

-- a key that moves
UPDATE held SET id = id + 1;

UPDATE held SET id = 4 WHERE id = 2;

UPDATE held SET v = 'x' WHERE id = 2;

MERGE INTO held USING (SELECT 2 AS a) s ON held.v = 'nobody' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.a, 'y');

MERGE INTO held USING (VALUES (2, 'up'), (9, 'in')) AS s(id, v) ON held.id = s.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- an overwrite looks at the rows that stay
INSERT OVERWRITE held VALUES (1, 'over'), (1, 'over');

INSERT OVERWRITE held VALUES (1, 'over'), (2, 'over');

SELECT * FROM held;

CREATE TABLE held_parts (id INT, p INT, PRIMARY KEY (id) ENFORCED) PARTITIONED BY (p);

INSERT INTO held_parts VALUES (1, 1), (2, 2);

INSERT OVERWRITE held_parts PARTITION (p = 1) VALUES (2);

INSERT OVERWRITE held_parts PARTITION (p = 2) VALUES (2), (3);

SELECT * FROM held_parts;

-- every spelling makes the same table
CREATE TABLE by_property (id INT, day DATE) TBLPROPERTIES ('primary-key'='id, day', 'write.key.enforced'='true');

SHOW CREATE TABLE by_property;

CREATE TABLE by_clause (id INT, day DATE, PRIMARY KEY (day, id) ENFORCED);

SHOW CREATE TABLE by_clause;

CREATE TABLE by_column (id INT CONSTRAINT pk PRIMARY KEY ENFORCED RELY);

SHOW CREATE TABLE by_column;

CREATE TABLE from_query TBLPROPERTIES ('primary-key'='id', 'write.key.enforced'='true') AS SELECT 1 AS id UNION ALL SELECT 1;

CREATE TABLE bad_none (id INT) TBLPROPERTIES ('write.key.enforced'='true');

CREATE TABLE bad_both (id INT PRIMARY KEY) TBLPROPERTIES ('primary-key'='id');

CREATE TABLE bad_contradiction (id INT PRIMARY KEY NOT ENFORCED) TBLPROPERTIES ('write.key.enforced'='true');

ALTER TABLE single SET TBLPROPERTIES ('primary-key'='name');

CREATE TABLE by_uuid (id UUID PRIMARY KEY ENFORCED, name STRING);

INSERT INTO by_uuid VALUES ('f79c3e09-677c-4bbd-a479-3f349cb785e7', 'first');

-- the same uuid, spelt otherwise
INSERT INTO by_uuid VALUES ('F79C3E09-677C-4BBD-A479-3F349CB785E7', 'second');
