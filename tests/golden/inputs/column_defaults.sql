CREATE TABLE t (id INT NOT NULL DEFAULT 7 COMMENT 'c', s STRING DEFAULT 'it''s' NOT NULL, d DECIMAL(9,2) DEFAULT 1 + 0.5, day DATE DEFAULT DATE'2024-02-29',
  ts TIMESTAMP DEFAULT TIMESTAMP'2024-01-01 00:00:00Z', tn TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', f DOUBLE DEFAULT 1e300,
  b BINARY DEFAULT X'00FF', ok BOOLEAN DEFAULT true, l BIGINT DEFAULT -9223372036854775807 - 1, n INT DEFAULT NULL, plain INT)
  TBLPROPERTIES ('format-version'='3');

SHOW CREATE TABLE t;

-- columns that are not named get their default
INSERT INTO t (plain) VALUES (1);

INSERT INTO t BY NAME SELECT 2 AS plain, 'x' AS s;

-- DEFAULT as a value
INSERT INTO t (plain, id, s) VALUES (3, DEFAULT, DEFAULT), (4, 8, 'DEFAULT');

INSERT INTO t (s, plain) SELECT DEFAULT, 5;

SELECT * FROM t ORDER BY plain;

UPDATE t SET s = DEFAULT, n = DEFAULT, id = 1 WHERE plain = 2;

MERGE INTO t USING (SELECT 3 AS k UNION ALL SELECT 6) AS src ON t.plain = src.k
  WHEN MATCHED THEN UPDATE SET id = DEFAULT, d = 0 WHEN NOT MATCHED THEN INSERT (plain, d) VALUES (src.k, DEFAULT);

SELECT plain, id, s, d, day, n FROM t ORDER BY plain;

-- a column that comes later gives its default for rows that are there, whatever it becomes
ALTER TABLE t ADD COLUMN late INT DEFAULT 40 + 2;

INSERT INTO t (plain) VALUES (10);

ALTER TABLE t ALTER COLUMN late SET DEFAULT 43;

INSERT INTO t (plain, late) VALUES (11, NULL), (12, DEFAULT);

ALTER TABLE t ALTER COLUMN late DROP DEFAULT;

INSERT INTO t (plain) VALUES (13);

SELECT plain, late FROM t ORDER BY plain;

-- filters see it
SELECT plain FROM t WHERE late = 42 AND plain < 4 ORDER BY plain;

SELECT plain FROM t WHERE late IS NULL ORDER BY plain;

SELECT plain FROM t WHERE late > 42 ORDER BY plain;

SELECT count(*) AS n, max(late) AS most FROM t;

-- so do changes
DELETE FROM t WHERE late = 42 AND plain > 2 AND plain < 10;

UPDATE t SET late = late + 1;

SELECT plain, late FROM t ORDER BY plain;

-- what is no constant, or does not fit
CREATE TABLE bad (id INT, x INT DEFAULT id) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x DOUBLE DEFAULT rand()) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x TIMESTAMP DEFAULT current_timestamp()) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x INT DEFAULT 'a') TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x TINYINT DEFAULT 3000000000) TBLPROPERTIES ('format-version'='3');

-- metadata is JSON, which has no such numbers
CREATE TABLE bad (x DOUBLE DEFAULT double('NaN')) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x FLOAT DEFAULT float('-Infinity')) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x INT DEFAULT (SELECT 1)) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad (x ARRAY<INT> DEFAULT array(1)) TBLPROPERTIES ('format-version'='3');

-- version 2 has no place for it
CREATE TABLE bad (x INT DEFAULT 1) TBLPROPERTIES ('format-version'='2');

-- of bytes, uuids and fields inside others, which rows that are there get too
CREATE TABLE inside (id INT, s STRUCT<a: INT>, l ARRAY<STRUCT<x: INT>>) TBLPROPERTIES ('format-version'='3');

INSERT INTO inside VALUES (1, named_struct('a', 1), array(named_struct('x', 1), NULL)), (2, NULL, NULL);

ALTER TABLE inside ADD COLUMNS s.b STRING DEFAULT 'b', l.element.y DATE DEFAULT DATE'2024-02-29', bin BINARY DEFAULT X'00FF',
  f BINARY(2) DEFAULT X'0102', u UUID DEFAULT '0B5F6C1E-1111-4222-8333-444455556666';

INSERT INTO inside (id, s, l) VALUES (3, named_struct('a', 3, 'b', NULL), array());

SELECT * FROM inside ORDER BY id;

SELECT id, s.b AS b FROM inside WHERE bin = X'00FF' AND (s.b = 'b' OR s IS NULL) ORDER BY id;

-- a struct is given whole
INSERT INTO inside BY NAME SELECT 4 AS id, named_struct('a', 4) AS s;
