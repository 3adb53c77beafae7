-- CALL compact
-- section: Compaction without buckets
-- expect: 5 5 1
CREATE NAMESPACE lake.compaction;
CREATE TABLE lake.compaction.t (id INT);
INSERT INTO lake.compaction.t VALUES (1);
INSERT INTO lake.compaction.t VALUES (2);
INSERT INTO lake.compaction.t VALUES (3);
INSERT INTO lake.compaction.t VALUES (4);
INSERT INTO lake.compaction.t VALUES (5);
CALL lake.system.compact('compaction.t');
SELECT concat_ws(' ', count(*), max(id), (SELECT count(*) FROM lake.compaction.t.data_files)) FROM lake.compaction.t;
