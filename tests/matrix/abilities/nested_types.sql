-- Arrays, maps and structs
-- section: Types
-- expect: 2 7 x null
CREATE NAMESPACE lake.nested_types;
CREATE TABLE lake.nested_types.t (id INT, l ARRAY<INT>, m MAP<STRING, STRUCT<a: INT>>, s STRUCT<a: INT, b: STRING>);
INSERT INTO lake.nested_types.t VALUES (1, array(1, 2), map('k', named_struct('a', 7)), named_struct('a', 0, 'b', 'x')),
  (2, NULL, NULL, NULL);
UPDATE lake.nested_types.t SET s.a = NULL WHERE id = 1;
SELECT concat_ws(' ', l[1], m['k'].a, s.b, coalesce(CAST(s.a AS STRING), 'null')) FROM lake.nested_types.t WHERE id = 1;
