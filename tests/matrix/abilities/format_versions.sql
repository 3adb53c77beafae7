-- Format versions 1, 2 and 3, upgraded in place
-- section: Table properties
-- expect: 1b 2c PUFFIN
CREATE NAMESPACE lake.format_versions;
CREATE TABLE lake.format_versions.t (id INT, v STRING) TBLPROPERTIES ('format-version'='1');
INSERT INTO lake.format_versions.t VALUES (1, 'a'), (2, 'c'), (3, 'd');
UPDATE lake.format_versions.t SET v = 'b' WHERE id = 1;
ALTER TABLE lake.format_versions.t SET TBLPROPERTIES ('format-version'='3');
DELETE FROM lake.format_versions.t WHERE id = 3;
SELECT concat_ws(' ', array_join(sort_array(collect_list(concat(id, v))), ' '),
  (SELECT max(file_format) FROM lake.format_versions.t.delete_files)) FROM lake.format_versions.t;
