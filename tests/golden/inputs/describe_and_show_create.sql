CREATE TABLE t (
  id BIGINT COMMENT 'it''s the "id"',
  `a b` STRING,
  tags MAP<STRING, ARRAY<INT>>,
  address STRUCT<street: STRING COMMENT 'with number', zip: INT>,
  at TIMESTAMP_NTZ,
  PRIMARY KEY (id)
) PARTITIONED BY (bucket(4, id), days(at), truncate(3, `a b`))
COMMENT 'multi
line; comment'
TBLPROPERTIES ('k;1'='v''1');

DESCRIBE TABLE t;

DESCRIBE TABLE EXTENDED t;

SHOW CREATE TABLE t;

-- the text above, run again under another name
CREATE TABLE again (
  id BIGINT NOT NULL COMMENT 'it''s the "id"',
  `a b` STRING,
  tags MAP<STRING, ARRAY<INT>>,
  address STRUCT<street: STRING COMMENT 'with number', zip: INT>,
  at TIMESTAMP_NTZ,
  PRIMARY KEY (id) NOT ENFORCED)
USING iceberg
PARTITIONED BY (bucket(4, id), days(at), truncate(3, `a b`))
TBLPROPERTIES ('k;1' = 'v''1');

SHOW CREATE TABLE again;

DESCRIBE TABLE t id;

SHOW TBLPROPERTIES t;

SHOW TBLPROPERTIES t ('k;1');

DESCRIBE TABLE missing;

SHOW CREATE TABLE missing;

-- statements that Spark's parser resolves the name of
SHOW CREATE TABLE IDENTIFIER('again');

TRUNCATE TABLE IDENTIFIER('again');
