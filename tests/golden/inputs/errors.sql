CREATE TABLE t (id INT NOT NULL, v STRING, PRIMARY KEY (id));

INSERT INTO t VALUES (1, 'a');

-- names that would leave the warehouse
CREATE TABLE `../../escaped` (id INT);

CREATE TABLE lake.`..`.escaped (id INT);

CREATE TABLE `a/b` (id INT);

CREATE TABLE `` (id INT);

CREATE NAMESPACE lake.`../outside`;

SELECT * FROM `../errors/t`;

-- what is not there
SELECT * FROM missing;

SELECT * FROM lake.missing.t;

SELECT * FROM no_catalog.errors.t;

INSERT INTO lake.missing.t VALUES (1);

-- a folder is made with its first table, as in Iceberg's Hadoop catalog
CREATE TABLE lake.missing.t (id INT);

SHOW TABLES IN lake.missing;

DROP TABLE lake.missing.t;

DROP NAMESPACE lake.missing;

MERGE INTO missing USING t ON missing.id = t.id WHEN MATCHED THEN DELETE;

UPDATE missing SET v = 'x';

-- text that is no statement
CREATE TABLE broken (id INT;

MERGE INTO t USING t AS s ON t.id = s.id WHEN SOMETIMES THEN DELETE;

INSERT INTO t VALUES;

DELETE FROM t WHERE;

UPDATE t SET;

-- types
CREATE TABLE unknown_type (id NUMBER);

INSERT INTO t VALUES (array(1), 'a');

UPDATE t SET v = map('a', 1);

SELECT v + DATE'2024-01-01' AS x FROM t;

-- a row fails in the middle of a statement
UPDATE t SET v = raise_error('stop here');

INSERT INTO t SELECT CAST('x' AS INT), 'b';

-- not offered, and said so
ALTER TABLE t RENAME TO u;

CREATE TABLE bucketed (id INT) CLUSTERED BY (id) INTO 4 BUCKETS;

CREATE TABLE outside (id INT) LOCATION '/tmp/../etc/sqlext';

-- after all of this the table is as it was
SELECT * FROM t;

SELECT count(*) AS snapshots FROM lake.errors.t.snapshots;

SHOW TABLES;
