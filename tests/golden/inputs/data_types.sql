CREATE TABLE scalars (b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, m1 DECIMAL(9,2), m2 DECIMAL(18,4), m3 DECIMAL(38,10),
  dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, s STRING, bin BINARY);

INSERT INTO scalars VALUES
  (true, 2147483647, 9223372036854775807, 1.5, 2.5, 9999999.99, 12345678901234.5678, 1234567890123456789012345678.0123456789,
   DATE'2024-02-29', TIMESTAMP'2024-02-29 12:34:56.789012Z', TIMESTAMP_NTZ'2024-02-29 12:34:56.789012', 'a', X'00FF'),
  (false, -2147483648, -9223372036854775808, float('NaN'), double('-Infinity'), -0.01, -99999999999999.9999, 0,
   DATE'1969-12-31', TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP_NTZ'0001-01-01 00:00:00', '', X''),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

SELECT * FROM scalars;

SELECT count(*) AS n FROM scalars WHERE m3 > 1234567890123456789012345678;

SELECT i FROM scalars WHERE bin = X'00ff' AND ts > TIMESTAMP'2024-01-01 00:00:00Z';

-- nested types, with nulls at every depth
CREATE TABLE nested (id INT, list ARRAY<INT>, map MAP<STRING, DOUBLE>, struct STRUCT<x: INT, y: STRUCT<z: DATE>>,
  deep ARRAY<STRUCT<k: STRING, v: MAP<INT, ARRAY<STRING>>>>);

INSERT INTO nested VALUES
  (1, array(1, NULL, 3), map('a', 1.5D, 'b', NULL), named_struct('x', 1, 'y', named_struct('z', DATE'2024-01-01')),
   array(named_struct('k', 'k1', 'v', map(1, array('p', NULL))))),
  (2, array(), map(), named_struct('x', NULL, 'y', NULL), array(NULL)), (3, NULL, NULL, NULL, NULL);

SELECT * FROM nested;

SELECT id, struct.y.z AS z, list[0] AS first, deep[0].v[1][0] AS inside FROM nested WHERE struct.x = 1;

-- uuids at any depth are text to Spark, in lower case; other text is refused
CREATE TABLE uuids (id INT, u UUID, f BINARY(2), l ARRAY<UUID>, m MAP<STRUCT<a: INT>, UUID>, s STRUCT<v: STRUCT<w: ARRAY<UUID>>>);

INSERT INTO uuids VALUES
  (1, '0B5F6C1E-1111-4222-8333-444455556666', X'0102', array('0b5f6c1e-1111-4222-8333-444455556667', NULL),
   map(named_struct('a', 1), 'fb5f6c1e-1111-4222-8333-444455556668'),
   named_struct('v', named_struct('w', array('0b5f6c1e-1111-4222-8333-444455556669')))), (2, NULL, NULL, NULL, NULL, NULL),
  (3, 'ffffffff-ffff-ffff-ffff-ffffffffffff', X'0000', array(), map(), NULL);

SELECT * FROM uuids;

SELECT id, s.v.w[0] AS w FROM uuids WHERE u = '0b5f6c1e-1111-4222-8333-444455556666';

SELECT id FROM uuids WHERE u > '7' OR u IN ('x', '0b5f6c1e-1111-4222-8333-444455556666') ORDER BY id;

UPDATE uuids SET u = s.v.w[0] WHERE u < 'a';

SELECT id, u FROM uuids ORDER BY id;

INSERT INTO uuids (id, u) VALUES (4, 'nonsense');

INSERT INTO uuids (id, f) VALUES (4, X'01');

-- Flink's spellings, and what becomes of them
CREATE TABLE flink (a INTEGER, b TIMESTAMP(3), c TIMESTAMP(6), d TIMESTAMP_LTZ(3), f BYTES, g DECIMAL(5, 1), h ROW<x INT, y STRING>);

DESCRIBE TABLE flink;

-- a length, kept and held
CREATE TABLE flink_varchar (e VARCHAR(10));

SHOW CREATE TABLE flink_varchar;

CREATE TABLE flink_time (id INT, h TIME);

-- TIMESTAMP(3) holds microseconds
CREATE TABLE precise (id INT, at TIMESTAMP(3)) WITH ('format-version'='2');

INSERT INTO precise VALUES (1, TIMESTAMP_NTZ'2024-01-01 00:00:00.123456');

SELECT * FROM precise;

-- narrow integers widen
CREATE TABLE narrow (a TINYINT, b SMALLINT);

DESCRIBE TABLE narrow;

-- what the format version cannot hold
CREATE TABLE bad_interval (i INTERVAL DAY TO SECOND);

CREATE TABLE bad_variant (v VARIANT) TBLPROPERTIES ('format-version'='2');

-- blanks that would not be kept, and other orders of text
CREATE TABLE limited (c CHAR(3));

CREATE TABLE collated (s STRING COLLATE UTF8_LCASE);

-- nor inside other types, nor by another way
CREATE TABLE limited (c STRUCT<l: ARRAY<CHAR(3)>>);

ALTER TABLE narrow ADD COLUMN c CHAR(3);

ALTER TABLE narrow ADD COLUMN s MAP<STRING, STRING COLLATE UNICODE>;

CREATE TABLE collated AS SELECT array('a' COLLATE UTF8_LCASE) AS s;

-- types that Spark has not, or not switched on
CREATE TABLE bad_nanoseconds (ts TIMESTAMP(9)) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad_geometry (g GEOMETRY(4326)) TBLPROPERTIES ('format-version'='3');

-- values of no fixed type
CREATE TABLE variants (id INT, v VARIANT, l ARRAY<VARIANT>) TBLPROPERTIES ('format-version'='3');

INSERT INTO variants VALUES (1, parse_json('{"a": [1, 2.5, "x"], "b": null}'), array(parse_json('true'), NULL)), (2, NULL, NULL);

SHOW CREATE TABLE variants;

SELECT id, to_json(v) AS v, variant_get(v, '$.a[1]', 'double') AS a1, to_json(l) AS l FROM variants;

UPDATE variants SET v = l[0] WHERE variant_get(v, '$.a[2]', 'string') = 'x';

SELECT id, schema_of_variant(v) AS type FROM variants;

ALTER TABLE variants ADD COLUMN w VARIANT DEFAULT parse_json('1');

CREATE TABLE bad_variants (v VARIANT) PARTITIONED BY (v) TBLPROPERTIES ('format-version'='3');

-- columns of nulls, until they get a type
CREATE TABLE nulls (id INT, n VOID, s STRUCT<x: VOID, y: INT>) TBLPROPERTIES ('format-version'='3');

INSERT INTO nulls VALUES (1, NULL, named_struct('x', NULL, 'y', 1));

SELECT * FROM nulls;

INSERT INTO nulls VALUES (2, 'text', NULL);

ALTER TABLE nulls ALTER COLUMN n TYPE STRING;

INSERT INTO nulls VALUES (2, 'text', NULL);

SELECT * FROM nulls ORDER BY id;

CREATE TABLE nulls_in_arrays (id INT, a ARRAY<STRUCT<x: INT, n: VOID>>) TBLPROPERTIES ('format-version'='3');

INSERT INTO nulls_in_arrays VALUES (1, array(named_struct('x', 1, 'n', NULL), named_struct('x', 2, 'n', NULL))), (2, NULL);

SELECT * FROM nulls_in_arrays ORDER BY id;

CREATE TABLE bad_nulls (id INT, l ARRAY<VOID>) TBLPROPERTIES ('format-version'='3');

CREATE TABLE bad_nulls (id INT, n VOID);

-- text is text
CREATE TABLE texts (id INT, t STRING);

INSERT INTO texts SELECT 1, CAST(X'61FF' AS STRING);

SELECT * FROM texts;

SHOW TABLES;
