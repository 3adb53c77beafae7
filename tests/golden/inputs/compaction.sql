-- a table without buckets that compacts itself: three small files of one size become one
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)
TBLPROPERTIES ('format-version'='3', 'write-only'='false', 'compaction.min.file-num'='3', 'compaction.delete-ratio-threshold'='0.25');

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');

INSERT INTO t VALUES (4, 'd'), (5, 'e'), (6, 'f');

SELECT content, record_count FROM lake.compaction.t.files ORDER BY ALL;

INSERT INTO t VALUES (7, 'g'), (8, 'h'), (9, 'i');

SELECT content, record_count FROM lake.compaction.t.files ORDER BY ALL;

-- rows keep their ids, and when they were changed
SELECT *, _row_id, _last_updated_sequence_number FROM t ORDER BY id;

ALTER TABLE t CREATE TAG merged;

-- two of nine rows that are gone are few, three of eleven are not
DELETE FROM t WHERE id IN (1, 3);

SELECT content, record_count FROM lake.compaction.t.files ORDER BY ALL;

UPSERT INTO t VALUES (7, 'G'), (10, 'j');

SELECT content, record_count FROM lake.compaction.t.files ORDER BY ALL;

SELECT * FROM t ORDER BY id;

SELECT operation FROM lake.compaction.t.snapshots ORDER BY committed_at;

-- a compaction changes no row
SELECT _change_type, id, v FROM table_changes('lake.compaction.t', 'merged') ORDER BY ALL;

-- by default others do it
CREATE TABLE left_alone (id INT, part STRING) PARTITIONED BY (part) TBLPROPERTIES ('format-version'='2');

INSERT INTO left_alone VALUES (1, 'a'), (2, 'b');

INSERT INTO left_alone VALUES (3, 'a'), (4, 'b');

INSERT INTO left_alone VALUES (5, 'a'), (6, 'b');

INSERT INTO left_alone VALUES (7, 'a'), (8, 'b');

CALL lake.system.compact('left_alone');

INSERT INTO left_alone VALUES (9, 'a'), (10, 'c');

CALL lake.system.compact('left_alone');

SELECT partition.part, record_count FROM lake.compaction.left_alone.data_files ORDER BY ALL;

-- full: all that can be merged, in the partitions that may have such rows
CALL lake.system.compact(table => 'left_alone', full => true, where => 'part = "b"');

INSERT INTO left_alone VALUES (11, 'a');

CALL lake.system.compact(table => 'left_alone', full => true);

CALL lake.system.compact(table => 'left_alone', full => true);

-- and rows of an earlier partitioning
ALTER TABLE left_alone DROP PARTITION FIELD part;

CALL lake.system.compact('left_alone');

CALL lake.system.compact(table => 'left_alone', full => true);

SELECT spec_id, record_count FROM lake.compaction.left_alone.data_files;

SELECT * FROM left_alone ORDER BY id;

-- properties that tell nothing
ALTER TABLE t SET TBLPROPERTIES ('compaction.delete-ratio-threshold'='20');

ALTER TABLE t SET TBLPROPERTIES ('compaction.min.file-num'='1');

ALTER TABLE t SET TBLPROPERTIES ('write-only'='sometimes');
