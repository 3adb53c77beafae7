-- nested rows: elements are added, or replace those with their nested-key
CREATE TABLE orders (k INT, user STRING, sub ARRAY<STRUCT<id: INT, product: STRING, price: INT>>, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='aggregation', 'fields.sub.aggregate-function'='nested_update', 'fields.sub.nested-key'='id');

INSERT INTO orders VALUES (1, 'Ada', NULL), (1, NULL, array(named_struct('id', 1, 'product', 'pen', 'price', 5))),
  (1, NULL, array(named_struct('id', 2, 'product', 'ink', 'price', 6), named_struct('id', 1, 'product', 'pen', 'price', 7)));

SELECT * FROM orders;

UPSERT INTO orders (k, sub, _row_kind) VALUES (1, array(named_struct('id', 2, 'product', 'ink', 'price', 6)), '-D');

SELECT * FROM orders;

-- up to a number of elements
CREATE TABLE few (k INT, last ARRAY<STRUCT<n: INT>>, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='aggregation', 'fields.last.aggregate-function'='nested_update', 'fields.last.count-limit'='2');

INSERT INTO few VALUES (1, array(named_struct('n', 1))), (1, array(named_struct('n', 2), named_struct('n', 3)));

SELECT * FROM few;

-- the fields of an element are updated one by one
CREATE TABLE parts (k INT, p ARRAY<STRUCT<id: INT, a: INT, b: STRING>>, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='partial-update', 'fields.p.aggregate-function'='nested_partial_update', 'fields.p.nested-key'='id',
  'fields.p.nested-key-null-strategy'='error');

INSERT INTO parts VALUES (1, array(named_struct('id', 1, 'a', 5, 'b', NULL), NULL));

INSERT INTO parts VALUES (1, array(named_struct('id', 1, 'a', NULL, 'b', 'x'), named_struct('id', 2, 'a', NULL, 'b', 'y')));

SELECT * FROM parts;

INSERT INTO parts VALUES (1, array(named_struct('id', NULL, 'a', 1, 'b', 'z')));

-- maps
CREATE TABLE maps (k INT, m MAP<STRING, INT>, t MAP<STRING, STRUCT<v: STRING, ts: STRING>>, PRIMARY KEY (k)) TBLPROPERTIES
  ('merge-engine'='aggregation', 'fields.m.aggregate-function'='merge_map', 'fields.t.aggregate-function'='merge_map_with_keytime',
  'fields.t.ts-field'='ts', 'fields.t.ignore-retract'='true');

INSERT INTO maps VALUES (1, map('a', 1), map('product', named_struct('v', 'iPhone', 'ts', '100'), 'color', named_struct('v', 'Black', 'ts', '100'))),
  (1, map('b', 2, 'a', NULL), map('product', named_struct('v', 'iPad', 'ts', '200'), 'price', named_struct('v', '999', 'ts', '200'))),
  (1, NULL, map('color', named_struct('v', 'White', 'ts', '50')));

SELECT * FROM maps;

UPSERT INTO maps (k, m, t, _row_kind) VALUES (1, map('b', 0), NULL, '-U'), (1, map('c', 3), map('price', NULL), '+U');

SELECT * FROM maps;

-- sketches that Spark makes and counts, and bitmaps of {1, 2} and {2, 3}
CREATE TABLE users (k INT, seen BINARY, days BINARY, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation',
  'fields.seen.aggregate-function'='hll_sketch', 'fields.days.aggregate-function'='rbm32');

UPSERT INTO users SELECT 1, hll_sketch_agg(id), X'3A30000001000000000001001000000001000200' FROM range(100);

UPSERT INTO users SELECT 1, hll_sketch_agg(id), X'3A30000001000000000001001000000002000300' FROM range(50, 150);

SELECT k, hll_sketch_estimate(seen), hex(days) FROM users;

UPSERT INTO users VALUES (1, X'01', NULL);

-- listagg of distinct parts
CREATE TABLE tags (k INT, t STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation',
  'fields.t.aggregate-function'='listagg', 'fields.t.distinct'='true', 'fields.t.list-agg-delimiter'=' | ');

INSERT INTO tags VALUES (1, 'a | b'), (1, 'b | c'), (1, ' '), (1, 'a');

SELECT * FROM tags;

-- what does not fit is refused when it is said
CREATE TABLE e (k INT, v ARRAY<INT>, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='nested_update');

CREATE TABLE e (k INT, v ARRAY<STRUCT<a: INT>>, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='nested_partial_update');

CREATE TABLE e (k INT, v STRING, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='theta_sketch');

CREATE TABLE e (k INT, v ARRAY<STRUCT<a: INT>>, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='nested_update', 'fields.v.nested-key'='b');

CREATE TABLE e (k INT, v INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.v.aggregate-function'='sum', 'fields.v.count-limit'='3');
