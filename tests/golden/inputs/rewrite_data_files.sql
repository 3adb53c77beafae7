-- small files become one, and the answer is Iceberg's
CREATE TABLE t (id INT, part STRING, v STRING) PARTITIONED BY (part) TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read');

INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y');

INSERT INTO t VALUES (3, 'a', NULL), (4, 'b', 'w');

CALL lake.system.rewrite_data_files('t');

CALL lake.system.rewrite_data_files(table => 't', options => map('min-input-files', '2', 'target-file-size-bytes', '1000000'), where => 'part = "a"');

SELECT partition.part, record_count FROM lake.rewrite_data_files.t.data_files ORDER BY ALL;

-- rows keep their ids
SELECT *, _row_id, _last_updated_sequence_number FROM t ORDER BY id;

DELETE FROM t WHERE id = 4;

CALL lake.system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true'));

SELECT content, record_count FROM lake.rewrite_data_files.t.files ORDER BY ALL;

-- sorted: by the table's order, by another one, or by z-values
CALL lake.system.rewrite_data_files(table => 't', strategy => 'sort');

INSERT INTO t VALUES (6, 'a', 'm'), (5, 'a', 'n');

CALL lake.system.rewrite_data_files(table => 't', strategy => 'sort', sort_order => 'v DESC NULLS FIRST, id', options => map('rewrite-all', 'true', 'compression-factor', '0.5'));

SELECT id, v FROM t WHERE part = 'a' ORDER BY _pos;

CALL lake.system.rewrite_data_files(table => 't', sort_order => 'zorder(id, v)', options => map('rewrite-all', 'true', 'var-length-contribution', '4'));

SELECT id, v FROM t WHERE part = 'a' ORDER BY _pos;

ALTER TABLE t WRITE ORDERED BY id DESC;

CALL lake.system.rewrite_data_files(table => 't', strategy => 'SORT', options => map('rewrite-all', 'true'));

SELECT id, v FROM t WHERE part = 'a' ORDER BY _pos;

-- rows move to another spec
ALTER TABLE t REPLACE PARTITION FIELD part WITH bucket(2, id);

CALL lake.system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true'));

SELECT DISTINCT spec_id FROM lake.rewrite_data_files.t.data_files;

CALL lake.system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true', 'output-spec-id', '0'));

SELECT DISTINCT spec_id FROM lake.rewrite_data_files.t.data_files;

-- in several commits
CALL lake.system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true', 'max-file-group-input-files', '1', 'partial-progress.enabled', 'true', 'partial-progress.max-commits', '2'));

SELECT * FROM t ORDER BY id;

-- an empty table, and a branch
CREATE TABLE empty (id INT);

CALL lake.system.rewrite_data_files('empty');

ALTER TABLE t CREATE BRANCH b;

CALL lake.system.rewrite_data_files(table => 't', branch => 'b', options => map('rewrite-all', 'true'));

CALL lake.system.rewrite_data_files(table => 't', branch => 'nothing');

-- what is refused
CALL lake.system.rewrite_data_files(table => 't', strategy => 'hilbert');

CALL lake.system.rewrite_data_files(table => 't', strategy => 'binpack', sort_order => 'id');

CALL lake.system.rewrite_data_files(table => 't', sort_order => 'id, zorder(v)');

CALL lake.system.rewrite_data_files(table => 't', sort_order => 'nothing');

CALL lake.system.rewrite_data_files(table => 'empty', strategy => 'sort');

CALL lake.system.rewrite_data_files(table => 't', options => map('compression-factor', '2'));

CALL lake.system.rewrite_data_files(table => 't', options => map('min-file-size-bytes', '9', 'target-file-size-bytes', '9'));

CALL lake.system.rewrite_data_files(table => 't', options => map('rewrite-all', 'perhaps'));

CALL lake.system.rewrite_data_files(table => 't', options => map('output-spec-id', '7'));

CALL lake.system.rewrite_data_files(table => 't', options => map('rewrite-job-order', 'largest'));

CREATE TABLE in_buckets (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='1');

CALL lake.system.rewrite_data_files('in_buckets');

CREATE TABLE d (id INT, n DECIMAL(9,2));

CALL lake.system.rewrite_data_files(table => 'd', sort_order => 'zorder(n)');

-- position-delete files: those that delete nothing go
CREATE TABLE v2 (id INT) TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition');

INSERT INTO v2 SELECT /*+ COALESCE(1) */ id FROM range(10);

DELETE FROM v2 WHERE id = 1;

DELETE FROM v2 WHERE id = 2;

CALL lake.system.rewrite_position_delete_files('v2');

SELECT record_count FROM lake.rewrite_data_files.v2.delete_files;

CALL lake.system.rewrite_position_delete_files(table => 'v2', options => map('min-input-files', '0'));

CALL lake.system.rewrite_position_delete_files(table => 'v2', options => map('delete-file-threshold', '1'));
