-- MERGE with every clause
-- section: DELETE, UPDATE, MERGE
-- expect: 2B 3gone 4d
CREATE NAMESPACE lake.merge;
CREATE TABLE lake.merge.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.merge.t VALUES (1, 'a'), (2, 'b'), (3, 'c');
MERGE INTO lake.merge.t AS t USING (SELECT * FROM VALUES (1, NULL), (2, 'B'), (4, 'd') AS s (id, v)) AS s ON t.id = s.id
  WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
  WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'gone';
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.merge.t;
