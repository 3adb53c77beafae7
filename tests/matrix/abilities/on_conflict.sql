-- INSERT … ON CONFLICT
-- section: INSERT … ON CONFLICT
-- expect: 1a 2B 3c 4d
CREATE NAMESPACE lake.on_conflict;
CREATE TABLE lake.on_conflict.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.on_conflict.t VALUES (1, 'a'), (2, 'b');
INSERT INTO lake.on_conflict.t VALUES (1, 'x'), (3, 'c') ON CONFLICT DO NOTHING;
INSERT INTO lake.on_conflict.t SELECT * FROM VALUES (2, 'b'), (4, 'd') ON CONFLICT (id) DO UPDATE SET v = upper(excluded.v);
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.on_conflict.t;
