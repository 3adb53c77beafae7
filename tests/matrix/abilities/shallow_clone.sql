-- SHALLOW CLONE, apart from its source
-- section: CREATE TABLE
-- expect: source 1 2 3 | clone 1 3 4 | old 1 2
CREATE NAMESPACE lake.shallow_clone;
CREATE TABLE lake.shallow_clone.t (id INT, PRIMARY KEY (id));
INSERT INTO lake.shallow_clone.t VALUES (1), (2);
ALTER TABLE lake.shallow_clone.t CREATE TAG v1;
INSERT INTO lake.shallow_clone.t VALUES (3);
CREATE TABLE lake.shallow_clone.c SHALLOW CLONE lake.shallow_clone.t;
CREATE TABLE lake.shallow_clone.old SHALLOW CLONE lake.shallow_clone.t VERSION AS OF 'v1';
DELETE FROM lake.shallow_clone.c WHERE id = 2;
INSERT INTO lake.shallow_clone.c VALUES (4);
SELECT concat(
  'source ', (SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.shallow_clone.t),
  ' | clone ', (SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.shallow_clone.c),
  ' | old ', (SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.shallow_clone.old));
