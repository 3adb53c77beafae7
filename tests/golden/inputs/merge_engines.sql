-- partial-update: what a row does not bring stays, as in Paimon's example
CREATE TABLE p (k INT, a DOUBLE, b INT, c STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='partial-update');

INSERT INTO p VALUES (1, 23.0, 10, NULL), (1, NULL, NULL, 'This is a book'), (1, 25.2, NULL, NULL);

SELECT * FROM p;

UPSERT INTO p (k, b) VALUES (1, 11), (2, 20);

SELECT * FROM p;

UPSERT INTO p (k, a, _row_kind) VALUES (1, 1.0, '-D');

-- each group of columns has its own order
CREATE TABLE g (k INT, a INT, b INT, g_1 INT, c INT, d INT, g_2 INT, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='partial-update', 'fields.g_1.sequence-group'='a,b', 'fields.g_2.sequence-group'='c,d', 'fields.d.aggregate-function'='sum');

INSERT INTO g VALUES (1, 1, 1, 1, 1, 1, 1);

INSERT INTO g VALUES (1, 2, 2, 2, 2, 2, NULL);

SELECT * FROM g;

INSERT INTO g VALUES (1, 3, 3, 1, 3, 3, 3);

SELECT * FROM g;

-- aggregation: a function for each column, the last value that is not null for others
CREATE TABLE s (k INT, price DOUBLE, sales BIGINT, n INT, tags ARRAY<STRING>, seen STRING, note STRING, at INT, PRIMARY KEY (k))
TBLPROPERTIES ('merge-engine'='aggregation', 'sequence.field'='at', 'fields.price.aggregate-function'='max',
  'fields.sales.aggregate-function'='sum', 'fields.n.aggregate-function'='count', 'fields.tags.aggregate-function'='collect',
  'fields.tags.distinct'='true', 'fields.seen.aggregate-function'='listagg', 'fields.seen.list-agg-delimiter'='|', 'format-version'='3');

INSERT INTO s VALUES
  (1, 23.0, 15, 7, array('a', 'b'), 'x', 'first', 1), (1, 30.2, 20, 7, array('b', 'c'), 'y', NULL, 2), (2, 1.0, NULL, NULL, NULL, NULL, NULL, NULL);

SELECT * FROM s;

-- a late row takes its place in the order
INSERT INTO s VALUES (1, 99.0, 1, 7, array('late'), 'late', 'late', 0), (2, NULL, 5, 1, array(), 'z', 'n', 3);

SELECT * FROM s;

INSERT INTO s VALUES (1, 1.0, 9223372036854775807, 1, NULL, NULL, NULL, 9);

UPSERT INTO s (k, sales, _row_kind) VALUES (1, 1, '-D');

-- values are taken back where every function can
CREATE TABLE r (k INT, sales INT, n BIGINT, top INT, last STRING, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='aggregation', 'fields.sales.aggregate-function'='sum', 'fields.n.aggregate-function'='count',
  'fields.top.aggregate-function'='max', 'fields.top.ignore-retract'='true');

UPSERT INTO r (k, sales, n, top, last, _row_kind) VALUES (1, 10, 1, 5, 'a', '+I'), (2, 3, 1, 1, 'b', '+I');

UPSERT INTO r (k, sales, n, top, last, _row_kind) VALUES (1, 10, 1, 5, 'a', '-U'), (1, 12, 1, 4, 'c', '+U'), (2, 3, 1, 1, 'b', '-D');

SELECT * FROM r;

-- or the whole row goes
CREATE TABLE w (k INT, a INT, b INT, at INT, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='partial-update', 'partial-update.remove-record-on-delete'='true', 'sequence.field'='at');

UPSERT INTO w (k, a, b, at, _row_kind) VALUES (1, 1, 1, 1, '+I'), (2, 2, 2, 1, '+I'), (3, 3, 3, 5, '+I');

UPSERT INTO w (k, a, at, _row_kind) VALUES (1, NULL, 2, '-D'), (2, NULL, 2, '-D'), (2, 7, 3, '+I'), (3, NULL, 4, '-D'), (4, NULL, 1, '-D');

SELECT * FROM w;

-- first-row
CREATE TABLE f (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='first-row', 'ignore-delete'='true');

INSERT INTO f VALUES (1, 'first'), (1, 'second');

UPSERT INTO f (k, v, _row_kind) VALUES (1, 'third', '+I'), (2, 'new', '+I'), (1, 'first', '-D');

SELECT * FROM f;

-- no order: what depends on it is refused, what does not is not
INSERT INTO f SELECT 3, CAST(id AS STRING) FROM range(2);

CREATE TABLE o (k INT, n INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.n.aggregate-function'='sum');

INSERT INTO o SELECT id % 2, id FROM range(10);

SELECT * FROM o;

INSERT INTO w SELECT 9, id, id, 1 FROM range(2);

-- statements that say what they do, do that
MERGE INTO o USING (SELECT 0 AS k, 1 AS n) AS s ON o.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

UPDATE o SET n = n * 2 WHERE k = 1;

SELECT * FROM o;

-- nothing goes in beside the row of its key
INSERT INTO o WITH ('upsert-enabled'='false') VALUES (1, 1);

MERGE INTO o USING (SELECT 0 AS k, 1 AS n) AS s ON o.k = s.k AND false WHEN NOT MATCHED THEN INSERT *;

-- deduplicate is what upserts do
CREATE TABLE d (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='deduplicate', 'ignore-delete'='true');

INSERT INTO d VALUES (1, 'a');

UPSERT INTO d (k, v, _row_kind) VALUES (1, 'b', '+U'), (1, 'a', '-U');

UPSERT INTO d (k, v, _row_kind) VALUES (1, 'b', '-D');

SELECT * FROM d;

-- what does not fit is refused when it is said
CREATE TABLE e (k INT, v STRING) TBLPROPERTIES ('merge-engine'='aggregation');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='newest');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='sum');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='median');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.k.aggregate-function'='max');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.w.aggregate-function'='max');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.agregate-function'='max');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='first-row', 'sequence.field'='v');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='partial-update', 'write.upsert.mode'='equality');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('sequence.field'='v', 'write.upsert.sequence-field'='k');

ALTER TABLE o DROP COLUMN n;

ALTER TABLE d SET TBLPROPERTIES ('fields.v.aggregate-function'='max');
