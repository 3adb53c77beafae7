-- DEFAULT of columns, for existing rows too
-- section: CREATE TABLE
-- expect: 1 new 7 | 2 old 8
CREATE NAMESPACE lake.defaults;
CREATE TABLE lake.defaults.t (id INT, state STRING DEFAULT 'new') TBLPROPERTIES ('format-version'='3');
INSERT INTO lake.defaults.t (id) VALUES (1);
ALTER TABLE lake.defaults.t ADD COLUMN n INT DEFAULT 7;
ALTER TABLE lake.defaults.t ALTER COLUMN n SET DEFAULT 8;
INSERT INTO lake.defaults.t VALUES (2, 'old', DEFAULT);
SELECT array_join(sort_array(collect_list(concat_ws(' ', id, state, n))), ' | ') FROM lake.defaults.t;
