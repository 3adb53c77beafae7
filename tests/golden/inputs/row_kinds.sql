-- the kinds of Flink: the column says what a row does, and is not stored
CREATE TABLE t (id INT, v STRING NOT NULL, n INT, PRIMARY KEY (id));

UPSERT INTO t (id, v, n, _row_kind) VALUES (1, 'a', 1, '+I'), (2, 'b', 2, '+I'), (3, 'c', 3, '+U'), (4, 'd', 4, '+I');

SELECT * FROM t;

UPSERT INTO t (_row_kind, id, v, n) VALUES
  ('-D', 1, NULL, NULL), ('-U', 2, 'b', 2), ('+U', 2, 'B', 20), ('-U', 3, 'c', 3), ('+I', 5, 'e', 5), ('-D', 99, NULL, NULL);

SELECT * FROM t;

-- in its place in a query, by name, under any case
UPSERT INTO t SELECT '+I' AS _row_kind, 6, 'f', 6;

UPSERT INTO t SELECT 7, 'g' AS v, '+I' AS _ROW_KIND, 7;

UPSERT INTO t BY NAME SELECT '-D' AS _row_kind, 4 AS id;

INSERT INTO t WITH ('upsert-enabled'='true') SELECT id, v, n, '-D' AS _row_kind FROM t WHERE id = 6;

SELECT * FROM t;

-- a MERGE that is an upsert
MERGE INTO t USING (SELECT * FROM VALUES (7, 'gone', 7, '-D'), (8, 'new', 8, '+I') AS s(id, v, n, _row_kind)) AS s
ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t;

-- a MERGE that says what to do with a kind is none
MERGE INTO t USING (SELECT 8 AS id, 'x' AS v, 0 AS n, '-D' AS _row_kind) AS s ON t.id = s.id
WHEN MATCHED AND s._row_kind = '-D' THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- without an order several rows of a key are refused, but for a pair
UPSERT INTO t (id, v, _row_kind) VALUES (2, 'x', '+I'), (2, 'x', '-D'), (5, 'y', '+U');

UPSERT INTO t (id, v, _row_kind) VALUES (2, 'x', '-D'), (2, 'x', '-D');

UPSERT INTO t (id, v, _row_kind) VALUES (2, 'x', '-U'), (2, 'x', '+I');

UPSERT INTO t (id, v, _row_kind) VALUES (2, 'x', '-U'), (2, 'x', '+U'), (2, 'z', '-U');

-- kinds that are none, and keys
UPSERT INTO t (id, v, _row_kind) VALUES (2, 'x', 'D'), (5, 'x', NULL), (9, 'x', '+I');

UPSERT INTO t (id, v, _row_kind) VALUES (2, 'x', '+i');

UPSERT INTO t (id, v, _row_kind) VALUES (NULL, 'x', '-D');

UPSERT INTO t (id, v, _row_kind) VALUES (9, NULL, '+I');

SELECT * FROM t;

-- an INSERT that only adds has no such column
INSERT INTO t (id, v, n, _row_kind) VALUES (9, 'i', 9, '+I');

-- the last row of a key is the one with the largest value in the sequence field
CREATE TABLE s (id INT, v STRING, at INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.sequence-field'='at');

UPSERT INTO s VALUES (1, 'first', 1), (1, 'last', 3), (1, 'second', 2), (2, 'null loses', NULL), (2, 'wins', 0);

SELECT * FROM s;

-- a row that lies before the stored one is passed over, one that is equal is not
UPSERT INTO s VALUES (1, 'late', 2), (2, 'equal', 0), (3, 'new', NULL);

UPSERT INTO s VALUES (1, 'late', NULL), (3, 'equal null', NULL);

SELECT * FROM s;

UPSERT INTO s (id, v, at, _row_kind) VALUES
  (1, 'late', 2, '-D'), (2, 'a', 1, '+I'), (2, 'a', 2, '-U'), (2, 'b', 2, '+U'), (3, 'c', 5, '+I'), (3, 'c', 6, '-D'),
  (4, 'd', 1, '-D'), (4, 'd', 2, '+I');

SELECT * FROM s;

-- ties
UPSERT INTO s VALUES (1, 'x', 9), (1, 'y', 9), (1, 'z', 8);

UPSERT INTO s VALUES (7, 'x', NULL), (7, 'y', NULL);

UPSERT INTO s (id, v, at, _row_kind) VALUES (1, 'x', 9, '+I'), (1, 'x', 9, '-D');

-- a tie among rows that lose is none
UPSERT INTO s VALUES (1, 'x', 9), (1, 'y', 9), (1, 'z', 10);

-- an order of two columns
CREATE TABLE two (id INT, v STRING, day DATE, number BIGINT, PRIMARY KEY (id))
TBLPROPERTIES ('write.upsert.sequence-field'='day, number', 'format-version'='3');

UPSERT INTO two VALUES (1, 'a', DATE'2024-01-01', 9), (1, 'b', DATE'2024-01-02', 1), (1, 'c', DATE'2024-01-02', NULL);

UPSERT INTO two VALUES (1, 'older', DATE'2024-01-01', 99);

MERGE INTO two USING (SELECT 1 AS id, 'older' AS v, DATE'2024-01-02' AS day, 0L AS number) AS s ON two.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM two;

-- by equality deletes the order is that within a batch
CREATE TABLE e (id INT, v STRING, at INT, PRIMARY KEY (id))
TBLPROPERTIES ('write.upsert.mode'='equality', 'write.upsert.enabled'='true', 'write.upsert.sequence-field'='at');

INSERT INTO e VALUES (1, 'a', 1), (1, 'b', 2), (2, 'c', 1);

INSERT INTO e (id, v, at, _row_kind) VALUES (1, 'b', 2, '-U'), (1, 'b2', 3, '+U'), (2, 'c', 1, '-D'), (3, 'd', 1, '+I');

SELECT * FROM e;

INSERT INTO e VALUES (1, 'behind the stored row', 0);

SELECT * FROM e;

SELECT content, record_count, equality_ids FROM lake.row_kinds.e.files;
