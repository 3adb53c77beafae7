-- Metadata tables
-- section: SELECT
-- expect: append overwrite | 2 1 1
CREATE NAMESPACE lake.metadata_tables;
CREATE TABLE lake.metadata_tables.t (id INT, v STRING);
INSERT INTO lake.metadata_tables.t VALUES (1, 'a'), (2, 'b');
UPDATE lake.metadata_tables.t SET v = 'c' WHERE id = 2;
SELECT concat((SELECT array_join(sort_array(collect_list(operation)), ' ') FROM lake.metadata_tables.t.snapshots), ' | ',
  (SELECT count(*) FROM lake.metadata_tables.t.data_files), ' ',
  (SELECT count(*) FROM lake.metadata_tables.t.position_deletes), ' ',
  (SELECT count(*) FROM lake.metadata_tables.t.refs));
