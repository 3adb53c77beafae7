-- UPDATE, DELETE, TRUNCATE, with subqueries
-- section: DELETE, UPDATE, MERGE
-- expect: 2b! 3c 0
CREATE NAMESPACE lake.update_and_delete;
CREATE TABLE lake.update_and_delete.t (id INT, v STRING);
CREATE TABLE lake.update_and_delete.other (id INT);
INSERT INTO lake.update_and_delete.t VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO lake.update_and_delete.other VALUES (2);
UPDATE lake.update_and_delete.t SET v = concat(v, '!') WHERE id IN (SELECT id FROM lake.update_and_delete.other);
DELETE FROM lake.update_and_delete.t WHERE id = 1;
TRUNCATE TABLE lake.update_and_delete.other;
SELECT concat_ws(' ', (SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.update_and_delete.t),
  (SELECT count(*) FROM lake.update_and_delete.other));
