-- Partitioning and sort order changed
-- section: ALTER TABLE
-- expect: 1a 2b 3c | 2 specs
CREATE NAMESPACE lake.partition_evolution;
CREATE TABLE lake.partition_evolution.t (id INT, v STRING) PARTITIONED BY (v);
INSERT INTO lake.partition_evolution.t VALUES (1, 'a'), (2, 'b');
ALTER TABLE lake.partition_evolution.t REPLACE PARTITION FIELD v WITH bucket(4, id);
ALTER TABLE lake.partition_evolution.t WRITE LOCALLY ORDERED BY id DESC;
INSERT INTO lake.partition_evolution.t VALUES (3, 'c');
SELECT concat(array_join(sort_array(collect_list(concat(id, v))), ' '), ' | ', count(DISTINCT _spec_id), ' specs')
  FROM lake.partition_evolution.t;
