-- Stored changelogs
-- section: Stored changelogs
-- expect: INSERT1 UPDATE_AFTER1 UPDATE_BEFORE1 | stored
CREATE NAMESPACE lake.stored_changelogs;
CREATE TABLE lake.stored_changelogs.t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup');
UPSERT INTO lake.stored_changelogs.t VALUES (1, 'a');
UPSERT INTO lake.stored_changelogs.t VALUES (1, 'b');
SELECT concat(array_join(sort_array(collect_list(concat(_change_type, id))), ' '), ' | ',
  (SELECT max('stored') FROM lake.stored_changelogs.t.snapshots WHERE summary['sqlext.changelog'] IS NOT NULL))
  FROM table_changes('lake.stored_changelogs.t');
