-- Nested rows, maps and sketches in merge engines
-- section: UPSERT
-- expect: 1:b,2:c | a1,b2 | 150
CREATE NAMESPACE lake.merged_collections;
CREATE TABLE lake.merged_collections.t (id INT, sub ARRAY<STRUCT<n: INT, v: STRING>>, m MAP<STRING, INT>, seen BINARY,
  PRIMARY KEY (id)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.sub.aggregate-function'='nested_update',
  'fields.sub.nested-key'='n', 'fields.m.aggregate-function'='merge_map', 'fields.seen.aggregate-function'='hll_sketch');
INSERT INTO lake.merged_collections.t
  SELECT 1, array(named_struct('n', 1, 'v', 'a')), map('a', 1), hll_sketch_agg(id) FROM range(100);
INSERT INTO lake.merged_collections.t
  SELECT 1, array(named_struct('n', 1, 'v', 'b'), named_struct('n', 2, 'v', 'c')), map('b', 2), hll_sketch_agg(id)
  FROM range(50, 150);
SELECT concat_ws(' | ', concat_ws(',', transform(sub, x -> concat(x.n, ':', x.v))),
  concat_ws(',', transform(map_entries(m), x -> concat(x.key, x.value))), hll_sketch_estimate(seen))
  FROM lake.merged_collections.t;
