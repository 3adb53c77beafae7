-- Row kinds: deletes among the rows of an upsert
-- section: UPSERT
-- expect: 2B 3c
CREATE NAMESPACE lake.row_kinds;
CREATE TABLE lake.row_kinds.t (id INT, v STRING, PRIMARY KEY (id));
UPSERT INTO lake.row_kinds.t VALUES (1, 'a'), (2, 'b');
UPSERT INTO lake.row_kinds.t (id, v, _row_kind) VALUES (1, NULL, '-D'), (2, 'b', '-U'), (2, 'B', '+U'), (3, 'c', '+I');
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.row_kinds.t;
