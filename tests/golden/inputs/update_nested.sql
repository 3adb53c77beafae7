CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING, d: BIGINT>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>);

INSERT INTO t VALUES (1, named_struct('a', 1, 'b', named_struct('c', 'one', 'd', 10L)), array(named_struct('x', 1)),
map('k', 1)), (2, named_struct('a', 2, 'b', NULL), NULL, NULL), (3, NULL, NULL, NULL);

UPDATE t SET s.a = 100 WHERE id = 1;

SELECT * FROM t;

UPDATE t SET s.b.c = 'two' WHERE id = 2;

SELECT * FROM t;

-- a null struct
UPDATE t SET s.b.d = 7 WHERE id = 3;

SELECT * FROM t;

-- several fields
UPDATE t SET s.a = s.a + 1, s.b.c = concat(s.b.c, '!'), id = id + 10 WHERE s.a IS NOT NULL;

SELECT * FROM t;

UPDATE t AS x SET x.s.a = 5, x.s.b = named_struct('d', 1L, 'c', 'by name');

SELECT * FROM t;

-- the whole and a part of it
UPDATE t SET s.a = 1, s = NULL;

UPDATE t SET s.b.c = 'a', s.b = NULL;

UPDATE t SET s.a = 1, S.A = 2;

UPDATE t SET s.nope = 1;

-- only fields of structs
UPDATE t SET l.x = 1;

UPDATE t SET m.k = 1;

UPDATE t SET id.x = 1;

UPDATE t SET s.a = 'text';

-- structs go by the names of their fields, and need all of them
UPDATE t SET s.b = named_struct('c', 'x');

UPDATE t SET s.b = named_struct('c', 'x', 'd', 1L, 'e', 2);

UPDATE t SET s.b = named_struct('x', 'x', 'y', 1L);

UPDATE t SET s = named_struct('b', named_struct('d', 5, 'c', 'q'), 'a', 6);

SELECT * FROM t;

UPDATE t SET l = array(named_struct('x', 5L)) WHERE id = 3;

UPDATE t SET m = map('z', 5L) WHERE id = 3;

UPDATE t SET l = array(named_struct('y', 5)) WHERE id = 3;

SELECT * FROM t WHERE id = 3;

-- required fields
CREATE TABLE r (id INT, s STRUCT<a: INT NOT NULL, b: INT>);

INSERT INTO r VALUES (1, named_struct('a', 1, 'b', 2)), (2, NULL);

UPDATE r SET s.a = NULL WHERE id = 1;

UPDATE r SET s.b = 5;

UPDATE r SET s.b = 5 WHERE id = 1;

UPDATE r SET s.a = 9 WHERE id = 2;

SELECT * FROM r;
