-- Time travel, and read options in hints
-- section: SELECT
-- expect: 1 2 3
CREATE NAMESPACE lake.time_travel;
CREATE TABLE lake.time_travel.t AS SELECT 1 AS id;
ALTER TABLE lake.time_travel.t CREATE TAG one;
INSERT INTO lake.time_travel.t VALUES (2);
ALTER TABLE lake.time_travel.t CREATE TAG two;
INSERT INTO lake.time_travel.t VALUES (3);
SELECT concat_ws(' ', (SELECT count(*) FROM lake.time_travel.t VERSION AS OF 'one'),
  (SELECT count(*) FROM lake.time_travel.t /*+ OPTIONS('tag'='two') */),
  (SELECT count(*) FROM lake.time_travel.t TIMESTAMP AS OF '2999-01-01 00:00:00'));
