CREATE TABLE t (id INT, v STRING);

INSERT INTO t VALUES (1, 'a'), (2, 'b');

-- hidden columns
MERGE INTO t USING t AS s ON t._file = s._file AND t._pos = s._pos AND s.id = 2 WHEN MATCHED THEN UPDATE SET v = 'by
place';

SELECT * FROM t;

MERGE INTO t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET _pos = 1;

MERGE INTO t USING (SELECT _file AS file, _pos AS pos FROM t WHERE id = 1) AS s ON t._file = s.file AND t._pos = s.pos
WHEN MATCHED THEN DELETE;

-- a source column of the target's alias
MERGE INTO t AS x USING (SELECT 2 AS x, 'y' AS v) AS s ON x.id = s.x WHEN MATCHED AND x._pos >= 0 THEN UPDATE SET v =
s.v;

UPDATE t SET v = concat(v, _pos) WHERE _file LIKE '%.parquet';

DELETE FROM t WHERE _pos > 100;

SELECT * FROM t;
