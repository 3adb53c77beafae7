-- files that no version of the table needs; nothing is removed unless it is said so
CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('write.metadata.previous-versions-max'='2');

INSERT INTO t VALUES (1, 'a');

INSERT INTO t VALUES (2, 'b');

INSERT INTO t VALUES (3, 'c');

INSERT INTO t VALUES (4, 'd');

CALL lake.system.remove_orphan_files('t');

CALL lake.system.remove_orphan_files(table => 't', older_than => TIMESTAMP '2100-01-01');

CALL lake.system.remove_orphan_files(table => 't', older_than => TIMESTAMP '2100-01-01', dry_run => false);

CALL lake.system.remove_orphan_files(table => 't', older_than => TIMESTAMP '2100-01-01', dry_run => false, force => true);

CALL lake.system.remove_orphan_files(table => 't', older_than => TIMESTAMP '2100-01-01', dry_run => false, force => true);

SELECT * FROM t ORDER BY id;

-- a list of files in place of a listing
CREATE TEMPORARY VIEW listed AS SELECT 'file:///elsewhere' AS file_path, TIMESTAMP '2001-01-01' AS last_modified;

CALL lake.system.remove_orphan_files(table => 't', file_list_view => 'listed');

CREATE TEMPORARY VIEW unlisted AS SELECT 'file:///elsewhere' AS path, TIMESTAMP '2001-01-01' AS last_modified;

CALL lake.system.remove_orphan_files(table => 't', file_list_view => 'unlisted');

CREATE TEMPORARY VIEW untimed AS SELECT 'file:///elsewhere' AS file_path, '2001-01-01' AS last_modified;

CALL lake.system.remove_orphan_files(table => 't', file_list_view => 'untimed');

-- refusals
CALL lake.system.remove_orphan_files(table => 't', location => '/tmp');

CALL lake.system.remove_orphan_files(table => 't', max_concurrent_deletes => 0);

CALL lake.system.remove_orphan_files(table => 't', prefix_mismatch_mode => 'guess');

CALL lake.system.remove_orphan_files(table => 't', equal_schemes => map('s3a', null));

BEGIN;

CALL lake.system.remove_orphan_files('t');

ROLLBACK;

ALTER TABLE t SET TBLPROPERTIES ('gc.enabled'='false');

CALL lake.system.remove_orphan_files('t');
