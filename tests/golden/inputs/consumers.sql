CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('consumer.expiration-time'='7 d', 'changelog-producer'='none');

CALL lake.system.consumers('t');

CALL lake.system.drop_consumer('t', 'job');

CALL lake.system.reset_consumer('t', 'a b');

CALL lake.system.reset_consumer('t', 'job', 42);

ALTER TABLE t SET TBLPROPERTIES ('consumer.expiration-time'='7');

ALTER TABLE t SET TBLPROPERTIES ('changelog-producer'='later');

ALTER TABLE t SET TBLPROPERTIES ('changelog-producer'='lookup', 'full-compaction.delta-commits'='3');

ALTER TABLE t SET TBLPROPERTIES ('changelog-producer.lookup-wait'='false');
