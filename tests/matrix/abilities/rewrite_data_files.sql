-- CALL rewrite_data_files
-- section: Maintenance
-- expect: 6 21 1
CREATE NAMESPACE lake.rewrites;
CREATE TABLE lake.rewrites.t (id INT);
INSERT INTO lake.rewrites.t VALUES (1), (2);
INSERT INTO lake.rewrites.t VALUES (3), (4);
INSERT INTO lake.rewrites.t VALUES (5), (6);
CALL lake.system.rewrite_data_files(table => 'rewrites.t', sort_order => 'id DESC', options => map('min-input-files', '2'));
SELECT concat_ws(' ', count(*), sum(id), (SELECT count(*) FROM lake.rewrites.t.data_files)) FROM lake.rewrites.t;
