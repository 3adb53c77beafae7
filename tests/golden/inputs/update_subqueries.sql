CREATE TABLE t (id INT, v STRING, n INT);

CREATE TABLE u (id INT, w STRING);

INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', NULL), (NULL, 'd', 40);

INSERT INTO u VALUES (1, 'x'), (3, 'y'), (5, 'z');

UPDATE t SET v = 'in' WHERE id IN (SELECT id FROM u);

SELECT * FROM t;

UPDATE t SET v = 'not in' WHERE id NOT IN (SELECT id FROM u);

SELECT * FROM t;

-- a null in the list: NOT IN is never true
INSERT INTO u VALUES (NULL, NULL);

UPDATE t SET v = 'never' WHERE id NOT IN (SELECT id FROM u);

SELECT * FROM t;

UPDATE t SET v = 'exists' WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND w = 'x');

UPDATE t SET v = 'not exists' WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id);

SELECT * FROM t;

UPDATE t AS o SET n = n + 1 WHERE EXISTS (SELECT 1 FROM t AS i WHERE i.id = o.id + 1);

SELECT * FROM t;

UPDATE t SET n = (SELECT max(n) FROM t);

SELECT * FROM t;

-- correlated values
UPDATE t SET v = (SELECT max(w) FROM u WHERE u.id = t.id);

SELECT * FROM t;

UPDATE t x SET v = (SELECT concat(max(w), x.n) FROM u WHERE u.id = x.id) WHERE x.id = 1;

SELECT * FROM t;

UPDATE t SET n = (SELECT count(*) FROM u WHERE u.id > t.id), v = CASE WHEN id IN (SELECT id FROM u) THEN 'both' ELSE v
END;

SELECT * FROM t;

UPDATE t SET n = 0 WHERE id = (SELECT min(id) FROM t);

UPDATE t SET n = 5 WHERE (id, v) IN (SELECT id, 'both' FROM u);

UPDATE t SET n = 6 WHERE id IN (SELECT id FROM u) OR v IS NULL;

SELECT * FROM t;

UPDATE t SET n = 7 WHERE NOT (id IN (SELECT id FROM u WHERE w > 'x') AND v = 'both');

SELECT * FROM t;

UPDATE t SET n = (SELECT id FROM u);

UPDATE t SET n = (SELECT id, w FROM u WHERE id = 1);

UPDATE t SET n = 1 WHERE id = (SELECT nope FROM u);

WITH c AS (SELECT 1 AS id) UPDATE t SET n = 99 WHERE id IN (SELECT id FROM c);

SELECT * FROM t;

-- conditions that are null, true and false
-- Iceberg refuses this, with an internal error
UPDATE t SET n = 1 WHERE NULL;

UPDATE t SET n = 2 WHERE CAST(NULL AS BOOLEAN);

UPDATE t SET n = 3 WHERE 1 = 0;

UPDATE t SET n = 4 WHERE true;

SELECT * FROM t;

UPDATE t SET n = id, id = n;

SELECT * FROM t;

UPDATE t SET n = sum(n);

UPDATE t SET n = 1 WHERE sum(n) > 1;

UPDATE t SET n = explode(array(1, 2));

UPDATE t SET n = 'x';

UPDATE t SET n = 1 WHERE v;

UPDATE t SET n = 1 WHERE id;
