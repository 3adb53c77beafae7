-- UPSERT by equality deletes, and their conversion
-- section: UPSERT
-- expect: 1a 2c | 1 converted
CREATE NAMESPACE lake.equality_upsert;
CREATE TABLE lake.equality_upsert.t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality');
UPSERT INTO lake.equality_upsert.t VALUES (1, 'a'), (2, 'b');
UPSERT INTO lake.equality_upsert.t SELECT 2, 'c';
CALL lake.system.convert_equality_deletes('equality_upsert.t');
SELECT concat(array_join(sort_array(collect_list(concat(id, v))), ' '), ' | ',
  (SELECT count(*) FROM lake.equality_upsert.t.delete_files WHERE content = 1), ' converted')
  FROM lake.equality_upsert.t;
