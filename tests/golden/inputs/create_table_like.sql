CREATE TABLE s (id INT COMMENT 'key', day DATE, v STRING NOT NULL, PRIMARY KEY (id, day))
PARTITIONED BY (day, bucket(4, id)) ORDERED BY (v DESC) COMMENT 'source' TBLPROPERTIES ('write.upsert.mode'='equality');

INSERT INTO s VALUES (1, DATE'2024-01-01', 'a');

CREATE TABLE t LIKE s TBLPROPERTIES ('write.upsert.mode'='resolved', 'format-version'='3');

SHOW CREATE TABLE t;

SELECT * FROM t;

INSERT INTO t SELECT * FROM s;

SELECT *, _partition FROM t;

CREATE TABLE t LIKE s;

CREATE TABLE IF NOT EXISTS t LIKE s;

CREATE TABLE u LIKE no_such_table;

CREATE TABLE u LIKE spark_catalog.default.x;

CREATE OR REPLACE TABLE t LIKE s;

CREATE TABLE u LIKE s LOCATION '/tmp/elsewhere';

-- replaced in one commit, with its history
CREATE OR REPLACE TABLE t USING iceberg AS SELECT 2 AS id;

SELECT * FROM t;

SELECT id, v FROM t VERSION AS OF ${snapshot:t:1};

-- equality deletes must reach a row's partition, as in CREATE TABLE
CREATE TABLE by_region (id INT, region STRING, PRIMARY KEY (id)) PARTITIONED BY (region);

CREATE TABLE upserted LIKE by_region TBLPROPERTIES ('write.upsert.mode'='equality');

-- in brackets, as PostgreSQL and the SQL standard spell it
CREATE TABLE bracketed (LIKE by_region) TBLPROPERTIES ('format-version'='3');

SHOW CREATE TABLE bracketed;

CREATE TABLE bracketed_too (LIKE lake.db.by_region);

CREATE TABLE v (LIKE by_region INCLUDING ALL);

CREATE TABLE v (LIKE by_region, more INT);

CREATE TABLE column_named_like (like STRING, id INT);

SHOW CREATE TABLE column_named_like;
