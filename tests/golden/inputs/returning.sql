-- the rows that a statement changed, in PostgreSQL's spelling
CREATE TABLE t (id INT, v STRING, d DECIMAL(5, 1), PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', null), (3, 'c', 3) RETURNING *;

INSERT INTO t (id, v) SELECT 4, 'd' RETURNING id, upper(v) AS shown, d IS NULL, NEW.id, OLD.id;

UPDATE t AS x SET v = concat(v, '!') WHERE id > 2 RETURNING x.id, x.*, OLD.v AS before, NEW.v AS after;

-- stars in brackets are the table's columns
UPDATE t SET v = v WHERE id = 3 RETURNING to_json(struct(*)), struct(t.*) AS row, struct(OLD.*).v, (SELECT struct(*) FROM VALUES (1) AS s (a));

UPDATE t SET v = v WHERE id = 3 RETURNING count(*), count(DISTINCT *), max(struct(id, t.*)), 2 * count(1);

-- a row that is set to the values that it has is returned too
UPDATE t SET v = v WHERE id = 1 RETURNING *;

UPSERT INTO t VALUES (1, 'upserted', 0), (5, 'e', 5) RETURNING id, OLD.v, NEW.v;

INSERT INTO t VALUES (1, 'twice', 0), (6, 'f', 6) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;

INSERT INTO t VALUES (1, 'thrice', 0), (7, 'g', 6) ON CONFLICT (id) DO NOTHING RETURNING *;

MERGE INTO t USING (VALUES (1, 'x'), (2, 'y'), (9, 'z')) s (id, v) ON t.id = s.id
  WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
  WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)
RETURNING merge_action(), *, OLD.v, NEW.v;

WITH gone AS (SELECT 2 AS id) DELETE FROM t WHERE id IN (SELECT id FROM gone) RETURNING t.*, (SELECT max(id) FROM gone);

DELETE FROM t WHERE id > 100 RETURNING id;

DELETE FROM t WHERE id = 9 RETURNING WITH (OLD AS o, NEW AS n) o.id, n.id, OLD;

DELETE FROM t WHERE id = 9 RETURNING WITH (OLD AS o) o.id, NEW.id;

INSERT OVERWRITE t SELECT 1, 'only', null RETURNING count(*), sum(id);

SELECT * FROM t;

-- names that are not the clause
CREATE TABLE r (id INT, returning INT) TBLPROPERTIES ('format-version'='2');

INSERT INTO r SELECT id, id returning FROM t returning WHERE returning.id = 1 RETURNING returning;

UPDATE r SET returning = 2 WHERE returning IS NOT NULL;

DELETE FROM r returning WHERE returning.id = 100;

-- without a key, by row ids, and without either
CREATE TABLE ids (id INT, v STRING) TBLPROPERTIES ('format-version'='3', 'write.update.mode'='copy-on-write');

INSERT INTO ids VALUES (1, 'a'), (1, 'a'), (2, 'b') RETURNING *;

UPDATE ids SET v = 'c' WHERE id = 1 RETURNING OLD.v, NEW.v;

UPDATE ids SET v = v WHERE id = 1 RETURNING *;

CREATE TABLE plain (id INT, v STRING) TBLPROPERTIES ('format-version'='2');

INSERT INTO plain VALUES (1, 'a'), (1, 'a'), (2, 'b');

UPDATE plain SET v = 'c' WHERE id = 1 RETURNING *;

UPDATE plain SET v = 'c' WHERE id = 1 RETURNING OLD.v;

MERGE INTO plain USING (SELECT 2 AS id) s ON plain.id = s.id WHEN MATCHED THEN DELETE RETURNING merge_action(), id;

UPDATE t SET id = 8 WHERE id = 1 RETURNING OLD.id;

UPDATE t SET id = 8 WHERE id = 1 RETURNING NEW.id, count(*) OVER ();

UPDATE t SET id = 1 WHERE id = 8;

-- an error in the list leaves the table as it was
UPDATE t SET v = 'changed' RETURNING 1 / (id - id);

UPDATE t SET v = 'changed' RETURNING absent;

UPDATE t SET v = 'changed' RETURNING merge_action();

UPDATE t SET v = 'changed' RETURNING * EXCEPT (id);

UPDATE t SET v = 'changed' RETURNING;

UPDATE t SET v = 'changed' RETURNING DISTINCT id;

UPDATE t SET v = 'changed' RETURNING id LIMIT 1;

UPDATE t SET v = 'changed' RETURNING 1 UNION ALL SELECT id;

SET `sqlext.plan.preview-rows` = 1;

UPDATE ids SET v = 'changed' RETURNING id;

RESET `sqlext.plan.preview-rows`;

INSERT WITH SCHEMA EVOLUTION INTO t BY NAME SELECT 7 AS id, 1 AS more RETURNING *;

PREVIEW DELETE FROM t RETURNING id;

EXPLAIN DELETE FROM t RETURNING id;

SELECT * FROM t;

-- in a transaction
BEGIN;

INSERT INTO t VALUES (10, 'j', 1) RETURNING id;

UPDATE t SET v = 'changed' RETURNING 1 / (id - id);

UPDATE t SET v = 'J' WHERE id = 10 RETURNING OLD.v, NEW.v;

-- a subquery would see the change here
DELETE FROM t WHERE id = 10 RETURNING (SELECT count(*) FROM t);

COMMIT;

SELECT * FROM t ORDER BY id;
