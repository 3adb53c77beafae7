-- Changes of many rows, by tasks of executors
-- section: DELETE, UPDATE, MERGE
-- expect: 200000 50000 100000
CREATE NAMESPACE lake.many_rows;
CREATE TABLE lake.many_rows.t (id BIGINT, v STRING, part INT, PRIMARY KEY (id)) PARTITIONED BY (part);
INSERT INTO lake.many_rows.t SELECT id, 'a', id % 2 FROM range(250000);
UPDATE lake.many_rows.t SET v = 'b' WHERE id % 2 = 0;
MERGE INTO lake.many_rows.t AS t USING (SELECT id * 2 AS id FROM range(100000)) AS s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET v = 'c';
DELETE FROM lake.many_rows.t WHERE id >= 150000 AND id % 2 = 1;
SELECT concat_ws(' ', count(*), count_if(v = 'b') * 2, count_if(v = 'c')) FROM lake.many_rows.t;
