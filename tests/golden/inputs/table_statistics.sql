-- without a snapshot there is nothing to count
CREATE TABLE t (id INT, region STRING, place STRUCT<city: STRING, at: ARRAY<DOUBLE>>, `with.dot` DECIMAL(9, 2)) PARTITIONED BY (region);

CALL lake.system.compute_table_stats('t');

ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS;

INSERT INTO t SELECT id, if(id % 5 = 0, NULL, concat('r', id % 4)), named_struct('city', concat('c', id % 3), 'at', array(1.5D)), id % 7 FROM range(100);

CALL lake.system.compute_table_stats('t');

SET spark.sql.cbo.enabled=true;

-- Spark shows what its optimiser knows: the number of distinct values of the statistics, all else of the manifests
DESCRIBE EXTENDED t id;

DESCRIBE EXTENDED t region;

-- fields of structs have statistics, as all engines may read them, though Spark's optimiser knows of columns alone
CALL sqlext.system.compute_table_stats(table => 't', columns => array('place.city', 'with.dot'));

DESCRIBE EXTENDED t `with.dot`;

DESCRIBE EXTENDED t id;

-- Spark's own statement: rows and bytes are known anyway, of columns it does the same
ANALYZE TABLE t COMPUTE STATISTICS;

ANALYZE TABLE t COMPUTE STATISTICS NOSCAN;

ANALYZE TABLE lake.table_statistics.t COMPUTE STATISTICS FOR COLUMNS ID, place.city, `with.dot`, id;

DESCRIBE EXTENDED t id;

-- rows that are deleted or added later are not counted until it is called again
DELETE FROM t WHERE id > 9;

DESCRIBE EXTENDED t id;

ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS;

DESCRIBE EXTENDED t id;

-- of another snapshot, by its columns
ALTER TABLE t RENAME COLUMN region TO area;

CALL lake.system.compute_table_stats(table => 't', snapshot_id => ${snapshot:t:1}, columns => array('region'));

CALL lake.system.compute_table_stats(table => 't', columns => array('area'));

DESCRIBE EXTENDED t area;

-- statistics go with their snapshot
CALL lake.system.expire_snapshots(table => 't', older_than => TIMESTAMP'2100-01-01');

DESCRIBE EXTENDED t area;

-- in a transaction, and with its rows
BEGIN;

INSERT INTO t VALUES (1000, 'r9', NULL, NULL);

ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS area;

DESCRIBE EXTENDED t area;

ROLLBACK;

DESCRIBE EXTENDED t area;

RESET spark.sql.cbo.enabled;

-- what is refused
CALL lake.system.compute_table_stats('nothing');

CALL lake.system.compute_table_stats(table => 't', snapshot_id => 1);

CALL lake.system.compute_table_stats(table => 't', columns => array());

CALL lake.system.compute_table_stats(table => 't', columns => array(CAST(NULL AS STRING)));

CALL lake.system.compute_table_stats(table => 't', columns => array('region'));

CALL lake.system.compute_table_stats(table => 't', columns => array('place'));

CALL lake.system.compute_table_stats(table => 't', columns => array('place.at.element'));

ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS place.town;

ANALYZE TABLE t PARTITION (area = 'r1') COMPUTE STATISTICS;

ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS;

ANALYZE TABLE t COMPUTE;

CREATE TABLE nested (list ARRAY<INT>);

INSERT INTO nested VALUES (array(1));

ANALYZE TABLE nested COMPUTE STATISTICS FOR ALL COLUMNS;

-- statistics of partitions: of a snapshot there is one file, and another one is made on top of that of an earlier one
CREATE TABLE p (id INT, region STRING) PARTITIONED BY (region);

CALL lake.system.compute_partition_stats('p');

INSERT INTO p VALUES (1, 'us'), (2, 'eu'), (3, NULL);

CALL lake.system.compute_partition_stats('p');

CALL lake.system.compute_partition_stats(table => 'p', snapshot_id => ${snapshot:p:1});

DELETE FROM p WHERE id = 1;

CALL sqlext.system.compute_partition_stats('p');

DELETE FROM p;

CALL lake.system.compute_partition_stats('p');

CALL lake.system.expire_snapshots(table => 'p', older_than => TIMESTAMP'2100-01-01');

CALL lake.system.compute_partition_stats(table => 'p', snapshot_id => 1);

CALL lake.system.compute_partition_stats('nested');
