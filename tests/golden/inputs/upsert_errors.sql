CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id));

INSERT INTO t VALUES (1, 'a');

-- a key twice, and a null key
UPSERT INTO t VALUES (2, 'x'), (2, 'y'), (3, 'z');

UPSERT INTO t VALUES (NULL, 'x');

UPSERT INTO t VALUES (NULL, 'x'), (2, 'y');

UPSERT INTO t (v) VALUES ('no key');

-- columns
UPSERT INTO t VALUES (1, 'a', 'too many');

UPSERT INTO t (id, vv) VALUES (1, 'a');

UPSERT INTO t VALUES ('one', 'a');

UPSERT INTO t SELECT 1, nope FROM t;

UPSERT INTO missing VALUES (1, 'a');

-- no key
CREATE TABLE unkeyed (id INT, v STRING);

UPSERT INTO unkeyed VALUES (1, 'a');

INSERT INTO unkeyed /*+ OPTIONS('upsert-enabled'='true') */ VALUES (1, 'a');

-- or other columns tell its rows apart, which the write names
UPSERT INTO unkeyed WITH ('equality-field-columns'='ID') VALUES (1, 'a'), (2, 'b');

INSERT INTO unkeyed /*+ OPTIONS('upsert-enabled'='true', 'equality-field-columns'='id') */ VALUES (1, 'c');

SELECT * FROM unkeyed;

UPSERT INTO unkeyed WITH ('equality-field-columns'='w') VALUES (1, 'a');

UPSERT INTO unkeyed WITH ('equality-field-columns'='id') VALUES (NULL, 'a');

INSERT INTO unkeyed WITH ('equality-field-columns'='id') VALUES (1, 'a');

INSERT INTO unkeyed WITH ('equality-field-columns'='id') VALUES (1, 'a') ON CONFLICT DO NOTHING;

UPSERT INTO t WITH ('equality-field-columns'='v') VALUES (1, 'a');

-- not together with an overwrite
INSERT OVERWRITE t WITH ('upsert-enabled'='true') SELECT 1, 'x';

UPSERT OVERWRITE t SELECT 1, 'x';

-- nor with an option that says something else
UPSERT INTO t /*+ OPTIONS('upsert-enabled'='false') */ VALUES (1, 'x');

UPSERT INTO t WITH ('Upsert-Enabled'='FALSE') VALUES (1, 'x');

EXPLAIN UPSERT INTO t /*+ OPTIONS('upsert-enabled'='false') */ VALUES (1, 'x');

UPSERT INTO t /*+ OPTIONS('overwrite-enabled'='true') */ VALUES (1, 'x');

UPSERT INTO t /*+ OPTIONS('write.upsert.enabled'='false') */ VALUES (1, 'x');

INSERT INTO t /*+ OPTIONS('upsert-enabled'='false') */ VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET v = excluded.v;

INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ VALUES (1, 'x') ON CONFLICT DO NOTHING;

UPSERT INTO t /*+ OPTIONS('upsert-enabled'='true', 'overwrite-enabled'='false') */ VALUES (1, 'a');

-- options
INSERT INTO t WITH ('upsert-enabled'='perhaps') SELECT 1, 'x';

INSERT INTO t /*+ OPTIONS('upsert-enable'='true') */ SELECT 1, 'x';

INSERT INTO t /*+ COALESCE(1) */ SELECT 1, 'x';

INSERT INTO t /*+ OPTIONS('upsert-enabled'='true' */ SELECT 1, 'x';

-- a place that is not written
UPSERT INTO t.snapshots VALUES (1, 'a');

-- a sequence field that is none
CREATE TABLE s (id INT, tags ARRAY<STRING>, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.sequence-field'='at');

CREATE TABLE s (id INT, tags ARRAY<STRING>, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.sequence-field'='tags');

CREATE TABLE s (id INT, tags ARRAY<STRING>, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.sequence-field'='id,,');

CREATE TABLE s (id INT, tags ARRAY<STRING>, at INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.sequence-field'='At');

ALTER TABLE s DROP COLUMN at;

ALTER TABLE s RENAME COLUMN at TO changed_at;

ALTER TABLE s SET TBLPROPERTIES ('write.upsert.sequence-field'='id, tags');

ALTER TABLE s ADD COLUMN note STRING;

-- a table whose rows are to go in by a key that it lacks
CREATE TABLE n (id INT) TBLPROPERTIES ('write.upsert.enabled'='true');

ALTER TABLE unkeyed SET TBLPROPERTIES ('write.upsert.enabled'='true');

ALTER TABLE t SET TBLPROPERTIES ('write.upsert.enabled'='true');

ALTER TABLE t DROP PRIMARY KEY;

ALTER TABLE t DROP IDENTIFIER FIELDS id;

INSERT OVERWRITE t SELECT 9, 'x';

INSERT INTO t REPLACE WHERE id = 1 SELECT 1, 'x';

-- the way out
INSERT INTO t /*+ OPTIONS('upsert-enabled'='false') */ REPLACE WHERE id = 1 SELECT 1, 'x';

INSERT INTO t WITH ('upsert-enabled'='false') REPLACE WHERE id = 1 SELECT 1, 'x';

INSERT INTO t WITH ('upsert-enable'='false') REPLACE WHERE id = 1 SELECT 1, 'x';

INSERT OVERWRITE t WITH ('upsert-enabled'='false') SELECT 1, 'a';

-- by equality deletes the key must tell the partition: at CREATE and at every ALTER
CREATE TABLE e (id INT, day DATE, PRIMARY KEY (id)) PARTITIONED BY (day) TBLPROPERTIES ('write.upsert.mode'='equality');

CREATE TABLE e (id INT, day DATE, PRIMARY KEY (id, day)) PARTITIONED BY (bucket(4, id), months(day))
TBLPROPERTIES ('write.upsert.mode'='equality');

UPSERT INTO e VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-01');

ALTER TABLE e SET IDENTIFIER FIELDS id;

ALTER TABLE e ADD COLUMN v INT;

ALTER TABLE e ADD PARTITION FIELD v;

ALTER TABLE e ADD PARTITION FIELD truncate(10, id);

CREATE TABLE r (id INT, day DATE, PRIMARY KEY (id)) PARTITIONED BY (day);

ALTER TABLE r SET TBLPROPERTIES ('write.upsert.mode'='equality');

CREATE TABLE like_r LIKE r TBLPROPERTIES ('write.upsert.mode'='equality');

UPSERT INTO r VALUES (1, DATE'2024-01-01');

UPSERT INTO r VALUES (1, DATE'2024-01-02');

SELECT * FROM r;

SELECT * FROM t;
