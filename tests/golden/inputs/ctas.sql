CREATE TABLE copied USING iceberg AS SELECT 1 AS id, 'a' AS name, DATE'2024-02-29' AS day;

SELECT * FROM copied;

DESCRIBE TABLE copied;

-- partitioned, from a CTE and VALUES
CREATE TABLE partitioned PARTITIONED BY (months(day)) COMMENT 'by month'
AS WITH source AS (SELECT * FROM VALUES (1, DATE'2024-01-31'), (2, DATE'2024-02-01'), (3, DATE'2024-02-29') AS v(id, day))
SELECT * FROM source WHERE id > 0;

SELECT * FROM partitioned;

SELECT partition.day_month AS month, record_count FROM lake.ctas.partitioned.files ORDER BY month;

-- of no rows: the table is there
CREATE TABLE empty_copy AS SELECT * FROM copied WHERE false;

SELECT count(*) AS n FROM empty_copy;

-- an expression's text is its name
CREATE TABLE unnamed AS SELECT 1 + 1;

-- a failing query leaves no table
CREATE TABLE failing AS SELECT CAST(raise_error('stop') AS INT) AS id FROM copied;

-- nor does one of no type
CREATE TABLE failing AS SELECT NULL AS id;

SHOW TABLES;

-- replaced with rows of itself
CREATE OR REPLACE TABLE copied AS SELECT id + 1 AS id, upper(name) AS name FROM copied;

SELECT * FROM copied;

CREATE TABLE IF NOT EXISTS copied AS SELECT 99 AS id, 'never' AS name;

SELECT * FROM copied;

-- a query's columns take nulls, also where it gives none
CREATE TABLE nullable AS SELECT 1 AS id, named_struct('a', 1) AS s;

INSERT INTO nullable VALUES (NULL, named_struct('a', NULL));

SELECT * FROM nullable;
