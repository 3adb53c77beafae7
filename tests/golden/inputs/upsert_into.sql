-- by position: the rows that are there are found by their keys
CREATE TABLE t (id INT, v STRING, n INT, PRIMARY KEY (id));

UPSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);

UPSERT INTO t SELECT * FROM VALUES (2, 'B', 20), (4, 'D', 40);

SELECT * FROM t;

-- a column that is not named gets its default, or null
UPSERT INTO t (v, id) VALUES ('C', 3);

SELECT * FROM t WHERE id = 3;

UPSERT INTO TABLE t BY NAME SELECT 5 AS id, 'E' AS v, 50 AS n;

WITH s AS (SELECT 5 AS id, 51 AS n) UPSERT INTO t BY NAME SELECT * FROM s;

-- from itself, no rows, and an expression of its own
UPSERT INTO t SELECT id + 3, upper(v), n * 2 FROM t WHERE id IN (1, 2);

UPSERT INTO t SELECT * FROM t WHERE false;

SELECT * FROM t;

-- store assignment as in INSERT
UPSERT INTO t VALUES ('6', 'six', 6);

UPSERT INTO t VALUES (6L, 6, 6.4);

SELECT * FROM t WHERE id = 6;

-- a plain INSERT repeats a key, an upsert replaces each row that has it
INSERT INTO t VALUES (6, 'again', 7);

UPSERT INTO t VALUES (6, 'once more', 8);

SELECT * FROM t WHERE id = 6;

-- by equality deletes
CREATE TABLE e (country STRING, id BIGINT, v STRING, PRIMARY KEY (country, id)) PARTITIONED BY (country)
TBLPROPERTIES ('write.upsert.mode'='equality');

UPSERT INTO e VALUES ('cz', 1, 'a'), ('cz', 2, 'b'), ('de', 1, 'c');

UPSERT INTO e VALUES ('cz', 2, 'B'), ('fr', 9, 'd');

SELECT * FROM e;

SELECT content, partition, record_count, equality_ids FROM lake.upsert_into.e.files;

-- where the property is set, by the hint of Flink, by Spark's options
CREATE TABLE on_by_default (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.enabled'='true');

INSERT INTO on_by_default VALUES (1, 'a'), (2, 'b');

INSERT INTO on_by_default VALUES (2, 'B'), (3, 'c');

INSERT INTO on_by_default /*+ OPTIONS('upsert-enabled'='false') */ VALUES (3, 'twice');

SELECT * FROM on_by_default;

INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ (id, v) VALUES (1, 'by the hint');

INSERT INTO t WITH ('upsert-enabled'='true') VALUES (2, 'by the option', 0);

SELECT * FROM t WHERE id < 3;

CREATE TABLE by_id (id INT, v STRING, PRIMARY KEY (id)) PARTITIONED BY (id) TBLPROPERTIES ('write.upsert.enabled'='true');

INSERT INTO by_id VALUES (1, 'a'), (2, 'b');

INSERT INTO by_id PARTITION (id = 1) SELECT 'static';

SELECT * FROM by_id;

-- formats and places: version 3, branches, an enforced key, checks
CREATE TABLE three (id INT, v STRING, day DATE, PRIMARY KEY (id)) PARTITIONED BY (months(day))
TBLPROPERTIES ('format-version'='3');

UPSERT INTO three VALUES (1, 'a', DATE'2024-01-31'), (2, 'b', DATE'2024-01-31');

UPSERT INTO three VALUES (1, 'moved', DATE'2024-02-01'), (3, 'c', DATE'2024-01-01');

SELECT id, v, day, _row_id, _last_updated_sequence_number FROM three;

ALTER TABLE three CREATE BRANCH audit;

UPSERT INTO lake.upsert_into.three.branch_audit VALUES (1, 'audited', NULL);

UPSERT INTO three /*+ OPTIONS('branch'='audit', 'snapshot-property.by'='me') */ VALUES (7, 'audited', NULL);

SELECT * FROM lake.upsert_into.three.branch_audit;

SELECT * FROM three;

CREATE TABLE held (id INT, n INT CHECK (n > 0), PRIMARY KEY (id) ENFORCED);

UPSERT INTO held VALUES (1, 1), (2, 2);

UPSERT INTO held VALUES (1, 10), (3, 3);

UPSERT INTO held VALUES (1, -1);

SELECT * FROM held;

-- columns that the rows bring
UPSERT WITH SCHEMA EVOLUTION INTO held BY NAME SELECT 3 AS id, 30 AS n, 'new' AS note;

SELECT * FROM held;

-- a uuid is one key in each of its spellings
CREATE TABLE uuids (id UUID, n INT, PRIMARY KEY (id));

UPSERT INTO uuids VALUES ('0b5f6c1e-1111-4222-8333-444455556666', 1);

UPSERT INTO uuids VALUES ('0B5F6C1E-1111-4222-8333-444455556666', 2);

SELECT n FROM uuids;
