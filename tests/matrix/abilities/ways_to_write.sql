-- Merge-on-read, deletion vectors, copy-on-write
-- section: DELETE, UPDATE, MERGE
-- expect: PARQUET PUFFIN none
CREATE NAMESPACE lake.ways_to_write;
CREATE TABLE lake.ways_to_write.positions AS SELECT id FROM range(4);
DELETE FROM lake.ways_to_write.positions WHERE id = 1;
CREATE TABLE lake.ways_to_write.vectors TBLPROPERTIES ('format-version'='3') AS SELECT id FROM range(4);
DELETE FROM lake.ways_to_write.vectors WHERE id = 1;
CREATE TABLE lake.ways_to_write.copies TBLPROPERTIES ('write.delete.mode'='copy-on-write') AS SELECT id FROM range(4);
DELETE FROM lake.ways_to_write.copies WHERE id = 1;
SELECT concat_ws(' ', (SELECT max(file_format) FROM lake.ways_to_write.positions.delete_files),
  (SELECT max(file_format) FROM lake.ways_to_write.vectors.delete_files),
  (SELECT coalesce(max(file_format), 'none') FROM lake.ways_to_write.copies.delete_files));
