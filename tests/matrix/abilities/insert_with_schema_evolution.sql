-- INSERT WITH SCHEMA EVOLUTION
-- section: INSERT
-- expect: 1 null | 5000000000 b
CREATE NAMESPACE lake.insert_with_schema_evolution;
CREATE TABLE lake.insert_with_schema_evolution.t (id INT);
INSERT INTO lake.insert_with_schema_evolution.t VALUES (1);
INSERT WITH SCHEMA EVOLUTION INTO lake.insert_with_schema_evolution.t BY NAME SELECT 5000000000 AS id, 'b' AS v;
SELECT array_join(sort_array(collect_list(concat_ws(' ', id, coalesce(v, 'null')))), ' | ')
  FROM lake.insert_with_schema_evolution.t;
