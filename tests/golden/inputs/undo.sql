-- CALL undo: one commit is reversed by rows, or the rows that are in the way are named
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('format-version'='2');

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');

UPDATE t SET v = upper(v) WHERE id < 3;

UPDATE t SET v = 'later' WHERE id = 3;

CALL lake.system.undo('t', ${snapshot:t:2}, dry_run => true);

SELECT * FROM t;

CALL lake.system.undo('t', ${snapshot:t:2});

SELECT * FROM t;

-- once, until it is undone itself
CALL lake.system.undo('t', ${snapshot:t:2});

CALL lake.system.undo('t', ${snapshot:t:4});

SELECT * FROM t;

-- the row of key 3 was changed later
CALL lake.system.undo(table => 't', snapshot_id => ${snapshot:t:1});

CALL lake.system.undo(table => 't', snapshot_id => 17);

CALL lake.system.undo('t');

-- without a key, rows are known by their values
CREATE TABLE plain (id INT, v STRING) TBLPROPERTIES ('format-version'='2');

INSERT INTO plain VALUES (1, 'a'), (1, 'a');

INSERT INTO plain VALUES (1, 'a'), (2, 'b');

CALL lake.system.undo('plain', ${snapshot:plain:2});

SELECT * FROM plain;

-- by row id from format version 3 on
CREATE TABLE third (id INT, v STRING) TBLPROPERTIES ('format-version'='3');

INSERT INTO third VALUES (1, 'a'), (2, 'b');

DELETE FROM third WHERE id = 1;

INSERT INTO third VALUES (1, 'a');

CALL lake.system.undo('third', ${snapshot:third:2});

SELECT _row_id, * FROM third;
