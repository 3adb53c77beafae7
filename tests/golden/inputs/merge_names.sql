CREATE TABLE t (id INT, `a b` STRING, `x.y` INT, `Case` STRING, `from` INT);

INSERT INTO t VALUES (1, 'one', 1, 'c', 1), (2, 'two', 2, 'd', 2);

MERGE INTO t USING (SELECT 1 AS id, 'q' AS `a b`, 5 AS `x.y`) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET `a b` = s.`a b`, t.`x.y` = s.`x.y`, cASE = upper(t.CASE), `from` = t.`from` + 1;

SELECT * FROM t;

MERGE INTO t AS `t t` USING (SELECT 1 AS ID) AS `s s` ON `t t`.ID = `s s`.id WHEN MATCHED THEN UPDATE SET `T T`.`a b`
= 'alias';

SELECT * FROM t;

-- the table's own name is hidden by its alias
MERGE INTO t AS x USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE;

MERGE INTO t AS x USING (SELECT 1 AS id) AS s ON x.id = s.id WHEN MATCHED THEN UPDATE SET t.`a b` = 'n';

-- whole names
MERGE INTO lake.merge_names.t USING (SELECT 2 AS id) AS s ON lake.merge_names.t.id = s.id
WHEN MATCHED THEN UPDATE SET lake.merge_names.t.`a b` = concat(merge_names.t.`a b`, '!');

MERGE INTO merge_names.t USING (SELECT 2 AS id) AS s ON merge_names.t.id = s.id WHEN MATCHED THEN UPDATE SET
merge_names.t.`x.y` = 22;

SELECT * FROM t;

CREATE TABLE u (id INT, `a b` STRING);

INSERT INTO u VALUES (2, 'from u'), (3, 'new');

MERGE INTO t USING lake.merge_names.u ON t.id = lake.merge_names.u.id WHEN MATCHED THEN UPDATE SET `a b` =
merge_names.u.`a b`
WHEN NOT MATCHED THEN INSERT (id, `a b`) VALUES (u.id, `a b`);

SELECT * FROM t;

-- one name on both sides has to be qualified
MERGE INTO t USING u ON t.id = id WHEN MATCHED THEN DELETE;

MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND `a b` = 'x' THEN DELETE;

MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET `a b` = `a b`;

-- but not where one side alone is seen
MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED AND id > 100 THEN INSERT (id) VALUES (id)
WHEN NOT MATCHED BY SOURCE AND id < 2 THEN UPDATE SET `a b` = concat(`a b`, '?');

SELECT * FROM t;

-- a clause sees one side only
MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED AND t.id > 100 THEN INSERT (id) VALUES (u.id);

MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id);

MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED BY SOURCE AND u.id = 1 THEN DELETE;

MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET `a b` = u.`a b`;

-- a source column of the target's alias, and a target column of the source's
CREATE TABLE c (s INT, v STRING);

INSERT INTO c VALUES (1, 'x');

MERGE INTO c AS t USING (SELECT 1 AS t, 'y' AS v) AS s ON t.s = s.t WHEN MATCHED THEN UPDATE SET s = s.t + 1, v = s.v;

SELECT * FROM c;

-- a source that has a column twice
MERGE INTO t USING (SELECT 1 AS id, 'dup' AS v, 2 AS id) AS s ON t.id = 1 WHEN MATCHED THEN UPDATE SET `a b` = s.v;

SELECT * FROM t WHERE id = 1;

MERGE INTO t USING (SELECT 1 AS id, 'dup' AS v, 2 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET `a b` = s.v;

MERGE INTO t USING (SELECT 1 AS id, 1 AS id, 'dup' AS `a b`, 3 AS `x.y`, 'k' AS `Case`, 1 AS `from`) AS s ON t.id = 1
WHEN MATCHED THEN UPDATE SET *;

MERGE INTO t USING (SELECT 7 AS id, 7 AS id) AS s ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (7);

MERGE INTO t USING (SELECT 8 AS id, 8 AS id) AS s ON t.id = 1 WHEN MATCHED THEN UPDATE SET `from` = 8 WHEN NOT MATCHED
BY SOURCE THEN UPDATE SET `from` = 9;

SELECT * FROM t;

-- the same alias for both
MERGE INTO t AS x USING u AS x ON x.id = x.id WHEN MATCHED THEN DELETE;

-- the target as its own source
MERGE INTO t USING t ON t.id = t.id WHEN MATCHED THEN DELETE;

MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET `x.y` = t.`x.y` + s.`x.y` WHEN NOT MATCHED THEN
INSERT *;

SELECT * FROM t;

-- case of names
SET spark.sql.caseSensitive = true;

MERGE INTO t USING (SELECT 1 AS ID) AS s ON t.id = s.id WHEN MATCHED THEN DELETE;

MERGE INTO t USING (SELECT 1 AS ID, 2 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET `Case` = 'sensitive',
`from` = s.ID;

MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET `CASE` = 'x';

MERGE INTO t USING (SELECT 1 AS id, 'dup' AS `a b`, 3 AS `x.y`, 'k' AS `CASE`, 1 AS `from`) AS s ON t.id = 1 WHEN
MATCHED THEN UPDATE SET *;

UPDATE t SET ID = 1;

UPDATE T SET id = 1;

DELETE FROM t WHERE ID = 1;

SET spark.sql.caseSensitive = false;

SELECT * FROM t;

-- an alias that is the name of a column
CREATE TABLE own (id INT, s INT, t INT);

INSERT INTO own VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);

MERGE INTO own AS s USING (SELECT 1 AS id, 10 AS n) AS x ON s.id = x.id WHEN MATCHED THEN UPDATE SET s = s.s + x.n;

UPDATE own AS s SET s.s = s.s + s.t WHERE s.s > 2;

DELETE FROM own AS id WHERE id.id = 3;

SELECT * FROM own;
