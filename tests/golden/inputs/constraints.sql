CREATE TABLE t (id INT, qty INT CHECK (qty >= 0), note VARCHAR(5), price DECIMAL(9,2), tags ARRAY<VARCHAR(2)>,
  CONSTRAINT cheap CHECK (price * qty < 1000), PRIMARY KEY (id) NOT ENFORCED);

SHOW CREATE TABLE t;

-- what satisfies them, and null, which is no violation
INSERT INTO t VALUES (1, 2, 'ab', 3.50, array('x')), (2, NULL, NULL, 9.99, array(NULL, 'yy')), (3, 0, 'fünfö', NULL, NULL);

-- each way a row comes in: the first that breaks a rule is named, and nothing is written
INSERT INTO t VALUES (4, 1, 'a', 1, NULL), (5, -1, 'a', 2.25, NULL);

INSERT INTO t VALUES (4, 100, 'a', 10, NULL);

INSERT INTO t VALUES (4, 1, 'sechs!', 10, NULL);

INSERT INTO t VALUES (4, 1, 'a', 10, array('ok', 'xyz'));

INSERT INTO t (id, qty) SELECT id, -id FROM range(3, 100000);

INSERT OVERWRITE t VALUES (1, -5, 'a', 1, NULL);

UPDATE t SET qty = qty - 1;

UPDATE t SET note = concat(note, 'more') WHERE id = 1;

MERGE INTO t USING (SELECT 1 AS id, 1000 AS qty) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = s.qty
  WHEN NOT MATCHED BY SOURCE THEN DELETE;

MERGE INTO t USING (SELECT 9 AS id, -9 AS qty, 'n' AS note, 1.0 AS price, array('a') AS tags) s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

ALTER TABLE t SET TBLPROPERTIES ('write.upsert.mode'='equality');

MERGE INTO t USING (SELECT 9 AS id, 9 AS qty, 'too long' AS note, 1.0 AS price, array('a') AS tags) s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t;

-- a delete is held to nothing
DELETE FROM t WHERE id = 2;

-- a new constraint holds for the rows that are there too
ALTER TABLE t ADD CONSTRAINT small CHECK (id < 3);

ALTER TABLE t ADD CONSTRAINT small CHECK (id < 4);

INSERT INTO t (id) VALUES (4);

ALTER TABLE t ADD CONSTRAINT SMALL CHECK (id < 40);

ALTER TABLE t DROP CONSTRAINT small;

INSERT INTO t (id) VALUES (4);

ALTER TABLE t DROP CONSTRAINT small;

ALTER TABLE t DROP CONSTRAINT IF EXISTS small;

-- what is no condition over one row
ALTER TABLE t ADD CONSTRAINT c CHECK (id IN (SELECT 1));

ALTER TABLE t ADD CONSTRAINT c CHECK (id);

ALTER TABLE t ADD CONSTRAINT c CHECK (rand() < id);

ALTER TABLE t ADD CONSTRAINT c CHECK (max(id) < 3);

ALTER TABLE t ADD CONSTRAINT c CHECK (nobody < 3);

CREATE TABLE bad (id INT, CONSTRAINT c CHECK (nobody > 1));

CREATE TABLE bad (id INT, CONSTRAINT c CHECK (id > 1), CONSTRAINT C CHECK (id > 2));

CREATE TABLE bad (id INT, CHECK (id > 1) NOT ENFORCED);

-- not by the back door
ALTER TABLE t SET TBLPROPERTIES ('sqlext.check.c'='id < 0');

ALTER TABLE t UNSET TBLPROPERTIES ('sqlext.check.cheap');

CREATE TABLE bad (id INT) TBLPROPERTIES ('sqlext.varchar-length.1'='3');

-- replacing a table replaces its constraints
CREATE OR REPLACE TABLE t (id INT, v VARCHAR(2)) TBLPROPERTIES ('sqlext.check.even'='id % 2 = 0');

INSERT INTO t VALUES (3, 'a');

INSERT INTO t VALUES (4, 'abc');

INSERT INTO t VALUES (4, 'ab');

SHOW CREATE TABLE t;

SELECT * FROM t;
