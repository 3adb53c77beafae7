-- Primary key added, replaced, dropped
-- section: ALTER TABLE
-- expect: 1 a again | 2 b
CREATE NAMESPACE lake.changed_keys;
CREATE TABLE lake.changed_keys.t (id INT, v STRING, note STRING);
INSERT INTO lake.changed_keys.t VALUES (1, 'a', NULL), (2, 'b', NULL);
ALTER TABLE lake.changed_keys.t ADD PRIMARY KEY (id);
ALTER TABLE lake.changed_keys.t MODIFY PRIMARY KEY (id, v);
UPSERT INTO lake.changed_keys.t VALUES (1, 'a', 'again');
ALTER TABLE lake.changed_keys.t DROP PRIMARY KEY;
SELECT array_join(sort_array(collect_list(concat_ws(' ', id, v, note))), ' | ') FROM lake.changed_keys.t;
