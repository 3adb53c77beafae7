-- CALL rewrite_data_files
-- section: Maintenance
-- expect: 6 21 1
CREATE NAMESPACE lake.rewrite_data_files;
CREATE TABLE lake.rewrite_data_files.t (id INT);
INSERT INTO lake.rewrite_data_files.t VALUES (1), (2);
INSERT INTO lake.rewrite_data_files.t VALUES (3), (4);
INSERT INTO lake.rewrite_data_files.t VALUES (5), (6);
CALL lake.system.rewrite_data_files(table => 'rewrite_data_files.t', sort_order => 'id DESC', options => map('min-input-files', '2'));
SELECT concat_ws(' ', count(*), sum(id), (SELECT count(*) FROM lake.rewrite_data_files.t.data_files)) FROM lake.rewrite_data_files.t;
