-- MERGE WITH SCHEMA EVOLUTION
-- section: DELETE, UPDATE, MERGE
-- expect: 1 a null | 2 B 20 | 3 c 30
CREATE NAMESPACE lake.merge_with_schema_evolution;
CREATE TABLE lake.merge_with_schema_evolution.t (id INT, v STRING);
INSERT INTO lake.merge_with_schema_evolution.t VALUES (1, 'a'), (2, 'b');
MERGE WITH SCHEMA EVOLUTION INTO lake.merge_with_schema_evolution.t AS t
  USING (SELECT * FROM VALUES (2, 'B', 20), (3, 'c', 30) AS s (id, v, n)) AS s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT array_join(sort_array(collect_list(concat_ws(' ', id, v, coalesce(CAST(n AS STRING), 'null')))), ' | ')
  FROM lake.merge_with_schema_evolution.t;
