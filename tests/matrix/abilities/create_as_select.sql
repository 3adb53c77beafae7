-- CREATE [OR REPLACE] TABLE … AS, … LIKE
-- section: CREATE TABLE
-- expect: 3 2 0
CREATE NAMESPACE lake.create_as_select;
CREATE TABLE lake.create_as_select.t USING iceberg AS SELECT id FROM range(2);
CREATE OR REPLACE TABLE lake.create_as_select.t PARTITIONED BY (part) AS SELECT id, id % 2 AS part FROM range(3);
CREATE TABLE lake.create_as_select.empty LIKE lake.create_as_select.t;
SELECT concat_ws(' ', (SELECT count(part) FROM lake.create_as_select.t),
  (SELECT count(*) FROM lake.create_as_select.t.snapshots), (SELECT count(part) FROM lake.create_as_select.empty));
