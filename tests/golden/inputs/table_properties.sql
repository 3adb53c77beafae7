CREATE TABLE t (id INT, kind STRING) PARTITIONED BY (kind) TBLPROPERTIES (
  'write.object-storage.enabled'='true', 'write.parquet.compression-codec'='snappy', 'write.delete.mode'='copy-on-write',
  'owner-team'='data', 'read.split.target-size'='1048576');

SHOW TBLPROPERTIES t;

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a');

SELECT regexp_replace(file_path, '.*/data/[01/]+/(kind=.)/.*', '<hash>/$1') AS path FROM lake.table_properties.t.files;

-- the data file is written anew
DELETE FROM t WHERE id = 1;

SELECT * FROM t;

-- what sqlext would not do
ALTER TABLE t SET TBLPROPERTIES ('write.format.default'='orc');

ALTER TABLE t SET TBLPROPERTIES ('write.location-provider.impl'='org.example.Locations');

CREATE TABLE encrypted (id INT) TBLPROPERTIES ('encryption.key-id'='k1');

-- values that do not fit
ALTER TABLE t SET TBLPROPERTIES ('write.parquet.compression-codec'='lzo');

ALTER TABLE t SET TBLPROPERTIES ('write.metadata.metrics.column.id'='some');

CREATE TABLE sized (id INT) TBLPROPERTIES ('write.target-file-size-bytes'='1 GB');

-- names that mean nothing
ALTER TABLE t SET TBLPROPERTIES ('write.upsert.modes'='equality');

-- what is told, not set
ALTER TABLE t SET TBLPROPERTIES ('identifier-fields'='id');

ALTER TABLE t SET TBLPROPERTIES ('current-snapshot-id'='1');

CREATE TABLE elsewhere (id INT) TBLPROPERTIES ('location'='/tmp/elsewhere');

-- the format version
CREATE TABLE old (id INT) TBLPROPERTIES ('format-version'='1');

INSERT INTO old VALUES (1), (2);

DELETE FROM old WHERE id = 1;

ALTER TABLE old SET TBLPROPERTIES ('format-version'='2', 'a'='b');

SHOW TBLPROPERTIES old ('format-version');

DELETE FROM old WHERE id = 1;

SELECT * FROM old;

ALTER TABLE old SET TBLPROPERTIES ('format-version'='1');

-- shared files are not purged
ALTER TABLE old SET TBLPROPERTIES ('gc.enabled'='false');

DROP TABLE old PURGE;

DROP TABLE old;

SHOW TABLES;
