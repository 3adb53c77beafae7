CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('format-version'='2', 'owner-team'='data', 'write.merge.mode'='merge-on-read');

-- a slip in a name, with the nearest that there is
CREATE TABLE bad (id INT) TBLPROPERTIES ('write.merge.mdoe'='copy-on-write');

CREATE TABLE bad (id INT) WITH ('format_version'='2');

ALTER TABLE t SET TBLPROPERTIES ('wirte.upsert.mode'='equality');

ALTER TABLE t SET TBLPROPERTIES ('read.split.target-sise'='1');

CREATE OR REPLACE TABLE t (id INT) TBLPROPERTIES ('history.expire.min-snapshot-to-keep'='3');

-- a value that is none
ALTER TABLE t SET TBLPROPERTIES ('write.upsert.mode'='fast');

-- secrets
CREATE TABLE bad (id INT) TBLPROPERTIES ('s3.secret-access-key'='canary');

ALTER TABLE t SET TBLPROPERTIES ('jdbc.password'='canary');

-- names of other programs, and of columns
ALTER TABLE t SET TBLPROPERTIES ('team.write'='y', 'write.metadata.metrics.column.id'='full');

-- what Flink and Paimon would do and is not done here, and what has no effect
ALTER TABLE t SET TBLPROPERTIES ('connector'='kafka');

ALTER TABLE t SET TBLPROPERTIES ('team.write'='z', 'end-input.check-partition-expire'='true');

ALTER TABLE t SET TBLPROPERTIES ('connector'='Iceberg', 'deletion-vectors.enabled'='true', 'scan.mode'='default');

-- what was not kept
SHOW TBLPROPERTIES t;

SHOW TABLES;
