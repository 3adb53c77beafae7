-- Flink's text, as users paste it
CREATE TABLE IF NOT EXISTS orders (
  order_id INTEGER COMMENT 'unique id',
  order_date DATE,
  order_time TIMESTAMP(3),
  quantity INT,
  product_id INT,
  purchaser STRING,
  primary key(order_id) NOT ENFORCED
) WITH ('format-version'='2');

-- a second time is no error
CREATE TABLE IF NOT EXISTS orders (other STRING) WITH ('format-version'='2');

DESCRIBE TABLE orders;

-- without IF NOT EXISTS it is one
CREATE TABLE orders (id INT) USING iceberg;

-- Spark's text
CREATE TABLE lake.create_table.events (
  id BIGINT NOT NULL COMMENT 'the event''s id',
  ts TIMESTAMP,
  kind STRING,
  amount DECIMAL(9,2)
) USING iceberg
PARTITIONED BY (days(ts), bucket(16, id), truncate(4, kind))
COMMENT 'what happened; when'
TBLPROPERTIES ('write.parquet.compression-codec'='zstd', "owner-team"="data");

DESCRIBE TABLE EXTENDED events;

-- an identity partition and the remaining transforms
CREATE TABLE parts (id INT, country STRING, y DATE, m DATE, h TIMESTAMP)
USING iceberg PARTITIONED BY (country, years(y), months(m), hours(h));

SHOW CREATE TABLE parts;

-- no provider named: the catalog's own format
CREATE TABLE plain (id INT, name STRING);

SELECT * FROM plain;

-- quoted names keep their case, spaces and quotes
CREATE TABLE `Odd ``names` (`a b` INT, `select` STRING, `CamelCase` DATE, `dot.ted` INT);

DESCRIBE TABLE `Odd ``names`;

-- two columns of one name
CREATE TABLE twice (id INT, ID STRING);

-- a column that is not there
CREATE TABLE bad_partition (id INT) PARTITIONED BY (days(ts));

-- a transform that the type does not have
CREATE TABLE bad_transform (id INT, name STRING) PARTITIONED BY (days(name));

-- a bucket count of nothing
CREATE TABLE bad_bucket (id INT) PARTITIONED BY (bucket(0, id));

-- a provider that is not Iceberg
CREATE TABLE other_provider (id INT) USING orc;

-- a format version beyond what is written
CREATE TABLE old_new (id INT) TBLPROPERTIES ('format-version'='9');

-- none of the refused tables left anything behind
SHOW TABLES;

-- replaced: new columns, no rows
CREATE OR REPLACE TABLE plain (id BIGINT, note STRING) TBLPROPERTIES ('a'='b');

DESCRIBE TABLE plain;

DROP TABLE plain;

DROP TABLE plain;

DROP TABLE IF EXISTS plain;
