CREATE TABLE t (id INT NOT NULL, k STRING, PRIMARY KEY (id)) PARTITIONED BY (k) TBLPROPERTIES ('write.wap.enabled'='true', 'write-only'='true');

INSERT INTO t VALUES (1, 'a'), (2, 'b');

-- an overwrite of a partition is staged, and another statement changes that partition before it is published
SET spark.wap.id = job-1;

SET spark.sql.sources.partitionOverwriteMode=dynamic;

INSERT OVERWRITE t VALUES (3, 'a');

RESET spark.sql.sources.partitionOverwriteMode;

RESET spark.wap.id;

INSERT INTO t VALUES (4, 'a');

CALL lake.system.publish_changes('t', 'job-1');

EXPLAIN COMMIT;

EXPLAIN COMMIT AND CHAIN;

-- in a transaction too, which it does not end
BEGIN;

EXPLAIN COMMIT;

ROLLBACK;
