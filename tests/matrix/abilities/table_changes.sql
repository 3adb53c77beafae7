-- table_changes
-- section: Changes
-- expect: DELETE1 INSERT1 INSERT2 UPDATE_AFTER2 UPDATE_BEFORE2
CREATE NAMESPACE lake.table_changes;
CREATE TABLE lake.table_changes.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.table_changes.t VALUES (1, 'a'), (2, 'b');
UPSERT INTO lake.table_changes.t VALUES (2, 'c');
DELETE FROM lake.table_changes.t WHERE id = 1;
SELECT array_join(sort_array(collect_list(concat(_change_type, id))), ' ')
  FROM table_changes('lake.table_changes.t');
