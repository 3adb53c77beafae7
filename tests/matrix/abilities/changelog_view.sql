-- CALL create_changelog_view
-- section: Changes
-- expect: DELETE1 INSERT1 INSERT2 UPDATE_AFTER2 UPDATE_BEFORE2
CREATE NAMESPACE lake.changelog_view;
CREATE TABLE lake.changelog_view.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.changelog_view.t VALUES (1, 'a'), (2, 'b');
UPSERT INTO lake.changelog_view.t VALUES (2, 'c');
DELETE FROM lake.changelog_view.t WHERE id = 1;
CALL lake.system.create_changelog_view(table => 'changelog_view.t', compute_updates => true);
SELECT array_join(sort_array(collect_list(concat(_change_type, id))), ' ') FROM t_changes;
