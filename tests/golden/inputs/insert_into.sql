CREATE TABLE t (id INT NOT NULL, name STRING, amount DECIMAL(9,2), day DATE);

INSERT INTO t VALUES (1, 'one', 1.50, DATE'2024-01-01'), (2, 'it''s two', -2, NULL);

-- a column list fills the rest with null
INSERT INTO t (name, id) VALUES ('three', 3);

INSERT INTO t BY NAME SELECT DATE'2024-04-04' AS day, 4 AS id, 'four' AS name, 4.4 AS amount;

-- a CTE before and a temporary view inside
CREATE TEMPORARY VIEW insert_source AS SELECT * FROM VALUES (5, 'five'), (6, 'six') AS v(id, name);

WITH doubled AS (SELECT id, name FROM insert_source) INSERT INTO t (id, name) SELECT * FROM doubled WHERE id < 6;

INSERT INTO t WITH six AS (SELECT * FROM insert_source WHERE id = 6) SELECT id, name, NULL, NULL FROM six;

INSERT INTO TABLE lake.insert_into.t SELECT id + 10, name, amount, day FROM t WHERE id <= 2;

SELECT * FROM t ORDER BY id;

-- from itself, everything read before anything is written
INSERT INTO t SELECT id + 100, name, amount, day FROM t;

SELECT count(*) AS n, min(id) AS least, max(id) AS most FROM t;

-- no rows
INSERT INTO t SELECT * FROM t WHERE id < 0;

-- store assignment: a number fits a wider one, a string does not become a number
INSERT INTO t VALUES (CAST(7 AS SMALLINT), 7, 7, NULL);

INSERT INTO t VALUES ('eight', 'eight', 8, NULL);

INSERT INTO t VALUES (3000000000, 'too large', 1, NULL);

INSERT INTO t VALUES (9, 'too wide', 12345678.9, NULL);

-- null in a required column
INSERT INTO t VALUES (NULL, 'null', 1, NULL);

INSERT INTO t SELECT CASE WHEN id = 5 THEN NULL ELSE id END, name, amount, day FROM t;

-- too few and too many values
INSERT INTO t VALUES (10, 'ten');

INSERT INTO t VALUES (10, 'ten', 1, NULL, 'extra');

INSERT INTO t (id, nome) VALUES (11, 'eleven');

INSERT INTO t (id, id) VALUES (12, 12);

INSERT INTO t BY NAME SELECT 13 AS id, 'thirteen' AS nome;

INSERT INTO missing VALUES (1);

SELECT count(*) AS n, count(DISTINCT id) AS ids FROM t;

-- partitioned: nulls, text that needs escaping, negative buckets of days before 1970
CREATE TABLE p (id INT, kind STRING, at TIMESTAMP_NTZ) PARTITIONED BY (kind, days(at));

INSERT INTO p VALUES (1, 'a/b=c', TIMESTAMP_NTZ'2024-02-29 23:59:59.999999'), (2, NULL, NULL),
  (3, '', TIMESTAMP_NTZ'1969-12-31 23:00:00'), (4, 'žluť 🐎', TIMESTAMP_NTZ'2024-03-01 00:00:00');

SELECT * FROM p ORDER BY id;

SELECT partition, record_count FROM lake.insert_into.p.files;
