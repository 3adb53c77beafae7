-- Columns added, renamed, widened, moved, dropped
-- section: ALTER TABLE
-- expect: 1 a null | 5000000000 b 2
CREATE NAMESPACE lake.columns;
CREATE TABLE lake.columns.t (id INT, v STRING, old INT);
INSERT INTO lake.columns.t VALUES (1, 'a', 0);
ALTER TABLE lake.columns.t DROP COLUMN old;
ALTER TABLE lake.columns.t RENAME COLUMN v TO name;
ALTER TABLE lake.columns.t ALTER COLUMN id TYPE BIGINT;
ALTER TABLE lake.columns.t ADD COLUMN n INT FIRST;
INSERT INTO lake.columns.t (id, name, n) VALUES (5000000000, 'b', 2);
SELECT array_join(sort_array(collect_list(concat_ws(' ', id, name, coalesce(CAST(n AS STRING), 'null')))), ' | ')
  FROM lake.columns.t;
