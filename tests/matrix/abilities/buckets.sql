-- Buckets that compact themselves
-- section: Buckets
-- expect: 1a 2b 3c 4d 5e | compacted
CREATE NAMESPACE lake.buckets;
CREATE TABLE lake.buckets.t (id INT, v STRING, PRIMARY KEY (id))
  TBLPROPERTIES ('bucket'='2', 'num-sorted-run.compaction-trigger'='2');
UPSERT INTO lake.buckets.t VALUES (1, 'a'), (2, 'x'), (3, 'x'), (4, 'd');
UPSERT INTO lake.buckets.t VALUES (2, 'b'), (3, 'x'), (4, 'd');
UPSERT INTO lake.buckets.t VALUES (2, 'b'), (3, 'c'), (5, 'e');
CALL lake.system.rescale('buckets.t', 4);
SELECT concat(array_join(sort_array(collect_list(concat(id, v))), ' '), ' | ',
  (SELECT max('compacted') FROM lake.buckets.t.snapshots WHERE operation = 'replace')) FROM lake.buckets.t;
