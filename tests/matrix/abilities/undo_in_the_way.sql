-- CALL undo names the rows that are in the way
-- section: Transactions
-- expect error: UNDO_ROWS_CHANGED
CREATE NAMESPACE lake.undo_in_the_way;
CREATE TABLE lake.undo_in_the_way.t (id INT, v STRING) TBLPROPERTIES ('format-version'='3');
INSERT INTO lake.undo_in_the_way.t VALUES (1, 'a'), (2, 'b');
ALTER TABLE lake.undo_in_the_way.t CREATE TAG inserted;
UPDATE lake.undo_in_the_way.t SET v = 'later' WHERE id = 2;
CALL lake.system.undo('undo_in_the_way.t',
  (SELECT snapshot_id FROM lake.undo_in_the_way.t.refs WHERE name = 'inserted'));
