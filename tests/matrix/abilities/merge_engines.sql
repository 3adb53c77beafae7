-- Merge engines and sequence fields
-- section: UPSERT
-- expect: 1 7 kept | late ignored
CREATE NAMESPACE lake.merge_engines;
CREATE TABLE lake.merge_engines.sums (id INT, n INT, note STRING, PRIMARY KEY (id))
  TBLPROPERTIES ('merge-engine'='aggregation', 'fields.n.aggregate-function'='sum');
INSERT INTO lake.merge_engines.sums VALUES (1, 3, 'kept');
INSERT INTO lake.merge_engines.sums SELECT 1, 4, NULL;
CREATE TABLE lake.merge_engines.last (id INT, v STRING, at INT, PRIMARY KEY (id)) TBLPROPERTIES ('sequence.field'='at');
UPSERT INTO lake.merge_engines.last VALUES (1, 'late ignored', 5);
UPSERT INTO lake.merge_engines.last VALUES (1, 'wrong', 4);
SELECT concat((SELECT concat_ws(' ', id, n, note) FROM lake.merge_engines.sums), ' | ',
  (SELECT v FROM lake.merge_engines.last));
