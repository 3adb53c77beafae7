CREATE TABLE t (id INT, day DATE) PARTITIONED BY (day) TBLPROPERTIES ('write.wap.enabled'='true');

INSERT INTO t VALUES (1, DATE'2024-01-01');

INSERT INTO t VALUES (2, DATE'2024-01-02');

INSERT INTO t VALUES (3, DATE'2024-01-03');

CALL lake.system.rollback_to_snapshot('rollback_and_publish.t', ${snapshot:t:2});

SELECT * FROM t;

-- what main has never been at
CALL lake.system.rollback_to_snapshot(table => 't', snapshot_id => ${snapshot:t:3});

CALL lake.system.set_current_snapshot(table => 't', snapshot_id => ${snapshot:t:3});

CALL lake.system.rollback_to_timestamp('lake.rollback_and_publish.t', TIMESTAMP'${timestamp:t:2}');

CALL lake.system.rollback_to_timestamp('t', TIMESTAMP'2001-01-01 00:00:00');

SELECT * FROM t;

RESTORE TABLE t TO VERSION AS OF ${snapshot:t:3};

RESTORE t TO TIMESTAMP AS OF '${timestamp:t:2}';

RESTORE TABLE t TO VERSION AS OF 42;

SELECT * FROM t;

CALL sqlext.system.ancestors_of('t', ${snapshot:t:1});

-- staged: on no branch until it is published
SET spark.wap.id = job-1;

INSERT INTO t VALUES (10, DATE'2024-01-10');

SELECT count(*) AS n FROM t;

SET spark.wap.id = job-2;

INSERT INTO t VALUES (11, DATE'2024-01-11');

DELETE FROM t WHERE id = 1;

RESET spark.wap.id;

CALL lake.system.publish_changes('t', 'job-1');

CALL lake.system.publish_changes('t', wap_id => 'job-1');

CALL lake.system.cherrypick_snapshot('t', ${snapshot:t:5});

CALL lake.system.cherrypick_snapshot('t', ${snapshot:t:6});

SELECT * FROM t;

SELECT summary['source-snapshot-id'] AS source_snapshot_id, summary['published-wap-id'] AS wap FROM lake.rollback_and_publish.t.snapshots
WHERE summary['published-wap-id'] IS NOT NULL;

-- a branch for the session
SET spark.wap.branch = audit;

INSERT INTO t VALUES (12, DATE'2024-01-12');

SELECT count(*) AS n FROM t;

INSERT INTO lake.rollback_and_publish.t.branch_main VALUES (13, DATE'2024-01-13');

RESET spark.wap.branch;

SELECT count(*) AS n FROM t;

SELECT name FROM lake.rollback_and_publish.t.refs;

-- arguments
CALL lake.system.rollback_to_snapshot('t');

CALL lake.system.rollback_to_snapshot('t', snapshot => 1);

CALL lake.system.rollback_to_snapshot('t', 1, 2);

CALL lake.system.rollback_to_snapshot('t', NULL);

CALL lake.system.roll_back('t');

CALL lake.system.set_current_snapshot('t');

CALL lake.system.set_current_snapshot('t', ref => 'audit');

CALL lake.system.ancestors_of('spark_catalog.db.t');
