-- many small manifests become one
CREATE TABLE t (id INT, region STRING) PARTITIONED BY (region) TBLPROPERTIES ('format-version'='3');

CALL lake.system.rewrite_manifests('t');

INSERT INTO t VALUES (1, 'us'), (2, 'eu');

-- one that is small enough stays, and no snapshot is made
CALL lake.system.rewrite_manifests('t');

INSERT INTO t VALUES (3, 'eu'), (4, NULL);

INSERT INTO t VALUES (5, 'asia');

DELETE FROM t WHERE id = 2;

SELECT *, _row_id, _last_updated_sequence_number FROM t ORDER BY id;

CALL sqlext.system.rewrite_manifests(table => 't', use_caching => true);

SELECT *, _row_id, _last_updated_sequence_number FROM t ORDER BY id;

SELECT operation, summary['manifests-created'], summary['manifests-replaced'], summary['manifests-kept'],
  summary['entries-processed'], summary['total-records'] FROM lake.rewrite_manifests.t.snapshots ORDER BY committed_at;

SELECT content, existing_data_files_count, added_data_files_count, deleted_data_files_count, existing_delete_files_count
FROM lake.rewrite_manifests.t.manifests ORDER BY ALL;

-- entries keep the numbers and the snapshot of those who added the files
SELECT status, sequence_number, file_sequence_number, data_file.record_count FROM lake.rewrite_manifests.t.entries ORDER BY ALL;

CALL lake.system.rewrite_manifests('t');

-- rows that follow get the ids that are next
INSERT INTO t VALUES (6, 'us');

SELECT id, _row_id FROM t ORDER BY id;

-- by size and partition: a query for one region reads one manifest
CREATE TABLE sized (id INT, region STRING, kind INT) PARTITIONED BY (region, kind) TBLPROPERTIES ('format-version'='2');

INSERT INTO sized VALUES (1, 'us', 1), (2, 'eu', 2), (3, 'asia', 1), (4, 'uk', 2);

INSERT INTO sized VALUES (5, 'us', 2), (6, 'eu', 1), (7, 'asia', 2), (8, 'uk', 1);

INSERT INTO sized VALUES (9, 'us', 1), (10, 'eu', 2), (11, 'asia', 1), (12, 'uk', 2);

ALTER TABLE sized SET TBLPROPERTIES ('commit.manifest.target-size-bytes'='7000');

CALL lake.system.rewrite_manifests('sized');

SELECT partition_summaries.lower_bound, partition_summaries.upper_bound FROM lake.rewrite_manifests.sized.manifests ORDER BY ALL;

CALL lake.system.rewrite_manifests(table => 'sized', sort_by => array('kind'));

SELECT partition_summaries.lower_bound, partition_summaries.upper_bound FROM lake.rewrite_manifests.sized.manifests ORDER BY ALL;

-- manifests of the current partition spec, or of another
ALTER TABLE sized ADD PARTITION FIELD bucket(4, id);

CALL lake.system.rewrite_manifests('sized');

INSERT INTO sized VALUES (13, 'us', 1);

INSERT INTO sized VALUES (14, 'us', 1);

CALL lake.system.rewrite_manifests('sized');

ALTER TABLE sized UNSET TBLPROPERTIES ('commit.manifest.target-size-bytes');

CALL lake.system.rewrite_manifests(table => 'sized', spec_id => 0);

SELECT partition_spec_id, existing_data_files_count FROM lake.rewrite_manifests.sized.manifests ORDER BY ALL;

SELECT count(*), sum(id) FROM sized;

-- manifests of deleted files alone leave none
CREATE TABLE gone (id INT) TBLPROPERTIES ('format-version'='1');

INSERT INTO gone VALUES (1);

INSERT INTO gone VALUES (2);

DELETE FROM gone;

CALL lake.system.rewrite_manifests('gone');

SELECT * FROM lake.rewrite_manifests.gone.manifests;

INSERT INTO gone VALUES (3);

SELECT * FROM gone;

-- in a transaction: with what it has appended before
BEGIN;

INSERT INTO gone VALUES (4);

CALL lake.system.rewrite_manifests('gone');

SELECT existing_data_files_count, added_data_files_count FROM lake.rewrite_manifests.gone.manifests;

COMMIT;

SELECT * FROM gone ORDER BY id;

SELECT operation FROM lake.rewrite_manifests.gone.snapshots ORDER BY committed_at;

-- what is refused
CALL lake.system.rewrite_manifests();

CALL lake.system.rewrite_manifests('nothing');

CALL lake.system.rewrite_manifests(table => 'sized', spec_id => 7);

CALL lake.system.rewrite_manifests(table => 'sized', sort_by => array());

CALL lake.system.rewrite_manifests(table => 'sized', sort_by => array('region', 'id'));

CALL lake.system.rewrite_manifests(table => 'sized', spec_id => 0, sort_by => array('id_bucket_4'));

CALL lake.system.rewrite_manifests(table => 'gone', sort_by => array('id'));

CALL lake.system.rewrite_manifests(table => 'sized', sort_by => array(CAST(NULL AS STRING)));

CALL lake.system.rewrite_manifests(table => 'sized', rewrite_all => true);

CALL lake.system.compact_manifest('sized');
