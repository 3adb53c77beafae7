-- The undo of one commit among others
-- section: Undo
-- expect: 1a 2b 3later
CREATE NAMESPACE lake.undo;
CREATE TABLE lake.undo.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.undo.t VALUES (1, 'a'), (2, 'b'), (3, 'c');
DELETE FROM lake.undo.t WHERE id < 3;
UPDATE lake.undo.t SET v = 'later' WHERE id = 3;
DECLARE OR REPLACE VARIABLE gone = (SELECT snapshot_id FROM lake.undo.t.snapshots
  WHERE committed_at = (SELECT max(committed_at) FROM lake.undo.t.snapshots WHERE operation = 'delete'));
CALL lake.system.undo('undo.t', gone);
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.undo.t;
