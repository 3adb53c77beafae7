-- a table in buckets is partitioned by the first column of the key and sorted by the key
CREATE TABLE t (id INT, region STRING, v STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('bucket'='2', 'write.upsert.mode'='equality', 'num-sorted-run.compaction-trigger'='3', 'write-only'='true');

SHOW CREATE TABLE t;

UPSERT INTO t VALUES (1, 'eu', 'a'), (2, 'eu', 'b'), (3, 'us', 'c'), (4, 'us', 'd');

UPSERT INTO t VALUES (1, 'eu', 'A'), (2, 'eu', 'B'), (3, 'us', 'C'), (4, 'us', 'D');

-- one file for each bucket and commit, in the order of the key
SELECT partition, record_count, sort_order_id FROM lake.buckets.t.data_files ORDER BY ALL;

-- two runs are below the trigger
CALL lake.system.compact('t');

UPSERT INTO t SELECT id, 'eu', 'e' FROM range(1, 7) AS s(id);

ALTER TABLE t CREATE TAG before;

-- three are not: they become one, and the deletes that hit nothing any more go
CALL lake.system.compact(table => 't');

SELECT * FROM t;

SELECT content, partition, record_count FROM lake.buckets.t.files ORDER BY ALL;

SELECT operation FROM lake.buckets.t.snapshots ORDER BY committed_at;

-- a compaction changes no row
SELECT count(*) FROM table_changes('lake.buckets.t', 'before');

-- of some buckets only, at the first run
DELETE FROM t WHERE id = 5;

CALL lake.system.compact(table => 't', where => 'id = 5', full => true);

CALL lake.system.compact(table => 't', full => true);

SELECT * FROM t;

-- the number of buckets is changed with the rows
ALTER TABLE t SET TBLPROPERTIES ('bucket'='4');

ALTER TABLE t DROP PARTITION FIELD bucket(2, id);

ALTER TABLE t DROP PRIMARY KEY;

CALL lake.system.rescale('t', 0);

CALL lake.system.rescale('t', 3);

SELECT partition, record_count, spec_id FROM lake.buckets.t.data_files ORDER BY ALL;

SELECT * FROM t;

SHOW TBLPROPERTIES t ('bucket');

ALTER TABLE t SET TBLPROPERTIES ('bucket'='-1');

-- a table that has no buckets
CREATE TABLE plain (id INT, k INT, PRIMARY KEY (k, id) NOT ENFORCED);

INSERT INTO plain VALUES (1, 1), (2, 1);

CALL lake.system.compact('plain');

ALTER TABLE plain SET TBLPROPERTIES ('bucket'='2');

CALL lake.system.rescale(table => 'plain', bucket_num => 2, bucket_key => 'v');

CALL lake.system.rescale(table => 'plain', bucket_num => 2, bucket_key => 'k');

SHOW CREATE TABLE plain;

SELECT * FROM plain;

-- writers that are not write-only merge what they have made due, here at two runs
CREATE TABLE own (id INT, day DATE, v STRING, PRIMARY KEY (id, day) NOT ENFORCED) PARTITIONED BY (day)
TBLPROPERTIES ('bucket'='2', 'bucket-key'='id', 'format-version'='3', 'num-sorted-run.compaction-trigger'='2');

UPSERT INTO own VALUES (1, DATE'2024-01-01', 'a'), (2, DATE'2024-01-01', 'b'), (1, DATE'2024-01-02', 'c');

UPSERT INTO own VALUES (1, DATE'2024-01-01', 'A'), (9, DATE'2024-01-02', 'd');

SELECT *, _row_id, _last_updated_sequence_number FROM own ORDER BY id, day;

SELECT content, record_count FROM lake.buckets.own.files ORDER BY ALL;

SELECT operation FROM lake.buckets.own.snapshots ORDER BY committed_at;

ALTER TABLE own SET TBLPROPERTIES ('compaction.max-size-amplification-percent'='20');

UPDATE own SET v = 'e' WHERE id = 9;

DELETE FROM own WHERE id = 2;

SELECT *, _row_id FROM own ORDER BY id, day;

SELECT content, record_count FROM lake.buckets.own.files ORDER BY ALL;

SELECT operation FROM lake.buckets.own.snapshots ORDER BY committed_at;

-- a number that goes by the rows
CREATE TABLE growing (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('bucket'='-1', 'dynamic-bucket.target-row-num'='10');

UPSERT INTO growing SELECT id, 'a' FROM range(35) AS s(id);

SELECT partition, record_count, spec_id FROM lake.buckets.growing.data_files ORDER BY ALL;

SELECT count(*), count(DISTINCT id) FROM growing;

-- refused
CREATE TABLE no_key (id INT) TBLPROPERTIES ('bucket'='2');

CREATE TABLE bad (id INT, k DOUBLE, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='2', 'bucket-key'='k');

CREATE TABLE bad (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket-key'='id');

CREATE TABLE bad (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='0');

CREATE TABLE bad (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='-2');

CREATE TABLE bad (flag BOOLEAN, PRIMARY KEY (flag)) TBLPROPERTIES ('bucket'='2');

CREATE TABLE bad (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='2', 'format-version'='1');

CREATE TABLE bad (id INT, PRIMARY KEY (id)) PARTITIONED BY (bucket(3, id)) TBLPROPERTIES ('bucket'='2');

CREATE TABLE bad (id INT, day DATE, PRIMARY KEY (id)) PARTITIONED BY (day) TBLPROPERTIES ('bucket'='2');

CREATE TABLE bad (day DATE, PRIMARY KEY (day)) PARTITIONED BY (day) TBLPROPERTIES ('bucket'='2');
