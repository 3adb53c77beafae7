-- a table to change
CREATE TABLE t (id INT, a INT, b STRING COMMENT 'bee', s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<p: INT>>,
  PRIMARY KEY (id) NOT ENFORCED);

INSERT INTO t VALUES (1, 10, 'b1', named_struct('x', 1, 'y', 'y1'), array(named_struct('p', 1)));

-- columns at any depth and place
ALTER TABLE t ADD COLUMNS (c DOUBLE COMMENT 'sea' AFTER id, s.z DATE FIRST, l.element.q STRING);

ALTER TABLE t RENAME COLUMN a TO renamed;

ALTER TABLE t ALTER COLUMN renamed TYPE BIGINT, s.x COMMENT 'abscissa', b FIRST;

ALTER TABLE t CHANGE COLUMN s.y ordinate STRING AFTER z;

DESCRIBE t;

SELECT * FROM t;

INSERT INTO t VALUES ('b2', 2, 2.5, 3000000000, named_struct('z', DATE'2024-01-01', 'ordinate', 'y2', 'x', 2), NULL);

-- a name that comes back is another column
ALTER TABLE t DROP COLUMNS (b, s.x);

ALTER TABLE t ADD COLUMNS (b INT, s.x STRING);

SELECT id, b, s.x, renamed FROM t WHERE b IS NULL AND renamed > 5 ORDER BY id;

-- old snapshots have their own columns
SELECT * FROM t VERSION AS OF ${snapshot:t:1};

UPDATE t SET b = 7 WHERE id = 2;

SELECT id, b, s.ordinate FROM t ORDER BY id;

ALTER TABLE t DROP COLUMN IF EXISTS nothing;

-- refused
ALTER TABLE t ADD COLUMN B INT;

ALTER TABLE t ADD COLUMN c2 INT NOT NULL;

ALTER TABLE t ADD COLUMN c2 INT DEFAULT 5;

ALTER TABLE t DROP COLUMN id;

ALTER TABLE t DROP COLUMN nothing;

ALTER TABLE t RENAME COLUMN c TO S;

ALTER TABLE t ALTER COLUMN renamed TYPE INT;

ALTER TABLE t ALTER COLUMN b SET NOT NULL;

ALTER TABLE t ALTER COLUMN id DROP NOT NULL;

ALTER TABLE t SET IDENTIFIER FIELDS b;

ALTER TABLE t REPLACE COLUMNS (x INT);

ALTER TABLE nothing ADD COLUMN x INT;

-- the key
ALTER TABLE t DROP IDENTIFIER FIELDS id;

ALTER TABLE t ALTER COLUMN id DROP NOT NULL;

ALTER TABLE t REPLACE COLUMNS (id INT, x STRING);

SELECT * FROM t;

-- a version after which nothing but the schema changed
SELECT id, renamed FROM t VERSION AS OF ${snapshot:t:2} ORDER BY id;

-- another folder would be another table
ALTER TABLE t SET LOCATION '/tmp/elsewhere';

COMMENT ON TABLE t IS 'from Spark''s own statement';

-- Spark's from 4.3 on, sqlext's with every version
COMMENT ON COLUMN t.x IS 'of a column';

DESCRIBE t;

COMMENT ON COLUMN lake.alter_table.t.x IS NULL;

DESCRIBE t;

COMMENT ON COLUMN t.nothing IS 'x';
