-- a table on the files of another one
CREATE TABLE t (id INT PRIMARY KEY, v STRING, CHECK (id > 0)) TBLPROPERTIES ('format-version'='2', 'write-only'='true');

CREATE TABLE empty SHALLOW CLONE t;

SELECT * FROM empty;

DROP TABLE empty;

INSERT INTO t VALUES (1, 'a'), (2, 'b');

ALTER TABLE t CREATE TAG v1;

DELETE FROM t WHERE id = 1;

CREATE TABLE c SHALLOW CLONE t TBLPROPERTIES ('owner.team'='x');

CREATE TABLE old SHALLOW CLONE t VERSION AS OF 'v1';

SELECT * FROM c;

SELECT * FROM old ORDER BY id;

-- each changes alone
UPSERT INTO c VALUES (2, 'c'), (3, 'd');

INSERT INTO t VALUES (9, 't');

INSERT INTO c VALUES (-1, 'x');

SELECT * FROM c ORDER BY id;

SELECT * FROM t ORDER BY id;

SHOW CREATE TABLE c;

SELECT count(*), min(type) FROM lake.shallow_clone.t.refs WHERE name LIKE 'sqlext.clone.%';

-- what the clones read stays
CALL lake.system.compact(table => 'shallow_clone.t', full => true);

ALTER TABLE t DROP TAG v1;

CALL lake.system.expire_snapshots(table => 'shallow_clone.t', older_than => TIMESTAMP'2999-01-01 00:00:00');

CALL lake.system.remove_orphan_files(table => 'shallow_clone.t', older_than => TIMESTAMP'2000-01-01 00:00:00', dry_run => false);

SELECT * FROM old ORDER BY id;

SELECT * FROM c ORDER BY id;

DROP TABLE t;

DROP TABLE c PURGE;

-- released by the drop
DROP TABLE old;

DROP TABLE c;

SELECT count(*) FROM lake.shallow_clone.t.refs WHERE name LIKE 'sqlext.clone.%';

SELECT * FROM t ORDER BY id;

-- refused
CREATE TABLE t SHALLOW CLONE t;

CREATE TABLE IF NOT EXISTS t SHALLOW CLONE t;

CREATE OR REPLACE TABLE u SHALLOW CLONE t;

CREATE TABLE u DEEP CLONE t;

CREATE TABLE u SHALLOW CLONE absent;

CREATE TABLE u SHALLOW CLONE t VERSION AS OF 5;

CREATE TABLE u SHALLOW CLONE lake.shallow_clone.t.files;

CREATE TABLE u SHALLOW CLONE spark_catalog.default.t;

DROP TABLE t;
