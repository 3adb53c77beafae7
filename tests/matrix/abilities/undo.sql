-- CALL undo of one commit, with others on it
-- section: Transactions
-- expect: 1a 2b 4d | 1
CREATE NAMESPACE lake.undo;
CREATE TABLE lake.undo.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.undo.t VALUES (1, 'a'), (2, 'b');
MERGE INTO lake.undo.t t USING (VALUES (1, 'x'), (2, 'x'), (3, 'x')) s (id, v) ON t.id = s.id
  WHEN MATCHED AND s.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *;
ALTER TABLE lake.undo.t CREATE TAG merged;
UPSERT INTO lake.undo.t VALUES (4, 'd');
CALL lake.system.compact('undo.t', full => true);
CALL lake.system.undo('undo.t',
  (SELECT snapshot_id FROM lake.undo.t.refs WHERE name = 'merged'), dry_run => true);
CALL lake.system.undo('undo.t',
  (SELECT snapshot_id FROM lake.undo.t.refs WHERE name = 'merged'));
SELECT concat(array_join(sort_array(collect_list(concat(id, v))), ' '), ' | ',
  (SELECT count(*) FROM lake.undo.t.snapshots WHERE summary['sqlext.undone-snapshot-id'] IS NOT NULL))
  FROM lake.undo.t;
