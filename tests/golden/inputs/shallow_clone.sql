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

CREATE TABLE u SHALLOW CLONE t TBLPROPERTIES ('gc.enabled'='true');

CREATE TABLE u SHALLOW CLONE t TBLPROPERTIES ('write.data.path'='/elsewhere');

CREATE TABLE u SHALLOW CLONE t TBLPROPERTIES ('format-version'='1');

CREATE TABLE lake.absent_namespace.u SHALLOW CLONE t;

BEGIN;

CREATE TABLE u SHALLOW CLONE t;

ROLLBACK;

SELECT count(*) FROM lake.shallow_clone.t.refs WHERE name LIKE 'sqlext.clone.%';

-- an old version has today's columns, partitioning and rules
ALTER TABLE t CREATE TAG v2;

ALTER TABLE t ADD COLUMN d INT;

ALTER TABLE t ADD CONSTRAINT positive CHECK (d > 0);

CREATE TABLE old SHALLOW CLONE t VERSION AS OF 'v2' TBLPROPERTIES ('format-version'='3');

INSERT INTO old (id, v, d) VALUES (5, 'e', 5);

INSERT INTO old (id, v, d) VALUES (6, 'f', 0);

SELECT * FROM old ORDER BY id;

-- free of the source
ALTER TABLE old SET TBLPROPERTIES ('gc.enabled'='true');

ALTER TABLE old UNSET TBLPROPERTIES ('gc.enabled');

CALL lake.system.fsck(table => 'shallow_clone.old');

CALL lake.system.remove_orphan_files(table => 'shallow_clone.old', older_than => TIMESTAMP'2000-01-01 00:00:00');

CALL lake.system.rewrite_data_files(table => 'shallow_clone.old', options => map('rewrite-all', 'true'));

INSERT INTO old (id, v, d) VALUES (7, 'g', 7);

CALL lake.system.expire_snapshots(table => 'shallow_clone.old', older_than => TIMESTAMP'2999-01-01 00:00:00');

ALTER TABLE old SET TBLPROPERTIES ('gc.enabled'='true');

SELECT id, d FROM old ORDER BY id;

SELECT * FROM t ORDER BY id;

CALL lake.system.fsck(table => 'shallow_clone.t');

-- clones go before their sources, and nothing if one stays
CREATE NAMESPACE lake.shallow_clone.inner;

CREATE TABLE lake.shallow_clone.inner.a SHALLOW CLONE t;

CREATE TABLE lake.shallow_clone.inner.z SHALLOW CLONE lake.shallow_clone.inner.a;

CREATE TABLE b SHALLOW CLONE lake.shallow_clone.inner.z;

DROP NAMESPACE lake.shallow_clone.inner CASCADE;

SHOW TABLES IN lake.shallow_clone.inner;

DROP TABLE b;

DROP NAMESPACE lake.shallow_clone.inner CASCADE;

DROP TABLE old;

DROP TABLE t;
