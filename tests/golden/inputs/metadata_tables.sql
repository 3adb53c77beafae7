CREATE TABLE t (id INT, day DATE) PARTITIONED BY (day);

-- of a table with no snapshot
SELECT * FROM lake.metadata_tables.t.snapshots;

SELECT * FROM lake.metadata_tables.t.files;

INSERT INTO t VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02'), (3, DATE'2024-01-02');

DELETE FROM t WHERE id = 2;

INSERT OVERWRITE t VALUES (9, DATE'2024-01-09');

SELECT operation, parent_id IS NULL AS first, summary['total-records'] AS records
FROM lake.metadata_tables.t.snapshots ORDER BY committed_at;

SELECT * FROM lake.metadata_tables.t.snapshots;

SELECT is_current_ancestor, parent_id IS NOT NULL AS child FROM lake.metadata_tables.t.history;

SELECT content, file_format, partition, record_count, spec_id FROM lake.metadata_tables.t.files;

SELECT content, added_data_files_count, existing_data_files_count, deleted_data_files_count, partition_summaries
FROM lake.metadata_tables.t.manifests;

DESCRIBE TABLE lake.metadata_tables.t.snapshots;

DESCRIBE TABLE lake.metadata_tables.t.history;

DESCRIBE TABLE lake.metadata_tables.t.files;

DESCRIBE TABLE lake.metadata_tables.t.manifests;

-- joined with each other
SELECT h.is_current_ancestor, s.operation
FROM lake.metadata_tables.t.history AS h JOIN lake.metadata_tables.t.snapshots AS s ON h.snapshot_id = s.snapshot_id;

SELECT * FROM lake.metadata_tables.t.no_such_metadata;

INSERT INTO lake.metadata_tables.t.files SELECT * FROM lake.metadata_tables.t.files;
