-- t.ro, the rows of clean files
-- section: SELECT
-- expect: all 2 3 4 | clean 3 4
CREATE NAMESPACE lake.read_optimized;
CREATE TABLE lake.read_optimized.t (id INT, PRIMARY KEY (id)) TBLPROPERTIES (
  'write.delete.mode'='merge-on-read', 'write-only'='true');
INSERT INTO lake.read_optimized.t VALUES (1), (2);
INSERT INTO lake.read_optimized.t VALUES (3), (4);
DELETE FROM lake.read_optimized.t WHERE id = 1;
SELECT concat(
  'all ', (SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.read_optimized.t),
  ' | clean ', (SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.read_optimized.t.ro));
