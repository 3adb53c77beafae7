-- CALL expire_snapshots, remove_orphan_files
-- section: Maintenance
-- expect: 1 1 1
CREATE NAMESPACE lake.maintenance;
CREATE TABLE lake.maintenance.t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.metadata.previous-versions-max'='1');
INSERT INTO lake.maintenance.t VALUES (1, 'a');
UPSERT INTO lake.maintenance.t VALUES (1, 'b');
UPSERT INTO lake.maintenance.t VALUES (1, 'c');
CALL lake.system.expire_snapshots(table => 'maintenance.t', older_than => TIMESTAMP '2100-01-01', snapshot_ids => array());
CALL lake.system.remove_orphan_files(table => 'maintenance.t', older_than => TIMESTAMP '2100-01-01', dry_run => false, force => true, equal_schemes => map('s3a', 's3'));
SELECT concat_ws(' ', count(*), (SELECT count(*) FROM lake.maintenance.t.snapshots), (SELECT count(*) FROM lake.maintenance.t.data_files)) FROM lake.maintenance.t WHERE v = 'c';
