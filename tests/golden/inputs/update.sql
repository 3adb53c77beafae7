CREATE TABLE t (id INT NOT NULL, name STRING, amount DECIMAL(9,2), `a b` INT, inner STRUCT<x: INT, y: STRING>);

INSERT INTO t VALUES (1, 'a', 1.1, 10, named_struct('x', 1, 'y', 'p')), (2, NULL, NULL, 20, NULL), (3, 'c', 3.3, NULL, NULL);

UPDATE t SET name = 'A' WHERE id = 1;

-- the old values on the right
UPDATE t SET id = `a b`, `a b` = id WHERE id = 2;

SELECT * FROM t ORDER BY id;

UPDATE t AS x SET x.amount = x.amount * 2, name = concat(x.name, ';', 'it''s') WHERE x.amount > 1;

SELECT id, name, amount FROM t ORDER BY id;

-- every row
UPDATE t SET `a b` = coalesce(`a b`, 0) + 1;

SELECT id, `a b` FROM t ORDER BY id;

-- null and a whole struct
UPDATE t SET name = NULL, inner = named_struct('x', 9, 'y', 'z') WHERE id = 3;

SELECT id, name, inner FROM t ORDER BY id;

-- one field of a struct
UPDATE t SET inner.y = 'q' WHERE id = 1;

SELECT id, inner FROM t ORDER BY id;

UPDATE t SET name = (SELECT max(name) FROM t) WHERE id = 3;

SELECT id, name FROM t ORDER BY id;

UPDATE t SET name = 'x' WHERE id = 12345;

UPDATE t SET nome = 'x';

UPDATE t SET name = nome;

UPDATE t SET id = NULL WHERE id = 1;

UPDATE t SET amount = 'text' WHERE id = 1;

UPDATE t SET amount = 123456789 WHERE id = 1;

UPDATE t SET name = 'x', name = 'y';

-- a row that moves to another partition
CREATE TABLE p (id INT, kind STRING) PARTITIONED BY (kind);

INSERT INTO p VALUES (1, 'x'), (2, 'y');

UPDATE p SET kind = 'z' WHERE id = 2;

SELECT * FROM p;

SELECT content, partition, record_count FROM lake.update.p.files;
