-- old snapshots go, with the files that only they needed
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='copy-on-write');

CALL lake.system.expire_snapshots('t');

INSERT INTO t VALUES (1, 'a'), (2, 'b');

INSERT INTO t VALUES (3, 'c');

DELETE FROM t WHERE id < 3;

-- five days is the default age
CALL lake.system.expire_snapshots('t');

CALL lake.system.expire_snapshots(table => 't', older_than => TIMESTAMP '2000-01-01');

CALL lake.system.expire_snapshots(table => 't', older_than => TIMESTAMP '2100-01-01', retain_last => 2);

SELECT operation FROM lake.expire_snapshots.t.snapshots ORDER BY committed_at;

CALL lake.system.expire_snapshots('t', TIMESTAMP '2100-01-01', 1, 4, true);

SELECT operation FROM lake.expire_snapshots.t.snapshots;

SELECT * FROM t;

-- the table's own properties and those of its references
ALTER TABLE t SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms'='0', 'history.expire.min-snapshots-to-keep'='2');

ALTER TABLE t CREATE TAG kept RETAIN 100 DAYS;

UPSERT INTO t VALUES (3, 'd');

UPSERT INTO t VALUES (3, 'e');

UPSERT INTO t VALUES (3, 'f');

CALL lake.system.expire_snapshots('t');

SELECT operation FROM lake.expire_snapshots.t.snapshots ORDER BY committed_at;

SELECT * FROM t VERSION AS OF 'kept';

ALTER TABLE t DROP TAG kept;

CALL lake.system.expire_snapshots('t');

SELECT count(*) FROM lake.expire_snapshots.t.snapshots;

-- partition specs and schemas that nothing uses
CREATE TABLE evolved (id INT, v STRING) PARTITIONED BY (v);

INSERT INTO evolved VALUES (1, 'a');

ALTER TABLE evolved DROP PARTITION FIELD v;

ALTER TABLE evolved ADD COLUMN n INT;

INSERT OVERWRITE evolved VALUES (2, 'b', 2);

INSERT INTO evolved VALUES (3, 'c', 3);

CALL lake.system.expire_snapshots(table => 'evolved', older_than => TIMESTAMP '2100-01-01', clean_expired_metadata => true);

SELECT * FROM evolved ORDER BY id;

-- what is done in the background
CALL lake.system.care_status('evolved');

CALL lake.system.care_status('spark_catalog.default.t');

-- refusals
CALL lake.system.expire_snapshots(table => 't', retain_last => 0);

CALL lake.system.expire_snapshots(table => 't', max_concurrent_deletes => -1);

CALL lake.system.expire_snapshots(table => 't', snapshot_ids => array(42));

CALL lake.system.expire_snapshots(table => 't', snapshot_ids => array(null));

CALL lake.system.expire_snapshots(table => 't', older_then => TIMESTAMP '2100-01-01');

CALL lake.system.expire_snapshots('nothing');

BEGIN;

CALL lake.system.expire_snapshots('t', TIMESTAMP '2100-01-01');

ROLLBACK;

ALTER TABLE t SET TBLPROPERTIES ('gc.enabled'='false');

CALL lake.system.expire_snapshots('t', TIMESTAMP '2100-01-01');

ALTER TABLE t SET TBLPROPERTIES ('history.expire.min-snapshots-to-keep'='0');

ALTER TABLE t SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms'='5 days');
