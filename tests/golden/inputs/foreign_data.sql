-- files that Spark writes, where no table is
INSERT OVERWRITE DIRECTORY '${folder}/.files/plain' USING parquet SELECT 1 AS id, 'a' AS s, 2.5D AS x;

INSERT OVERWRITE DIRECTORY '${folder}/.files/days/day=2024-01-01' USING parquet SELECT 1 AS id;

INSERT OVERWRITE DIRECTORY '${folder}/.files/days/day=2024-01-02' USING parquet SELECT 2 AS id;

INSERT OVERWRITE DIRECTORY '${folder}/.files/days/day=__HIVE_DEFAULT_PARTITION__' USING parquet SELECT 3 AS id;

INSERT OVERWRITE DIRECTORY '${folder}/.files/orc' USING orc SELECT 4 AS id, 'd' AS s;

CREATE TABLE t (id INT, s STRING);

CALL lake.system.add_files('foreign_data.t', '`parquet`.`${folder}/.files/plain`');

CALL lake.system.add_files(table => 't', source_table => 'orc.`${folder}/.files/orc`', parallelism => 1);

SELECT * FROM t ORDER BY id;

SELECT content, file_format, record_count, value_counts, null_value_counts, lower_bounds FROM lake.foreign_data.t.files;

SHOW TBLPROPERTIES t ('schema.name-mapping.default');

-- once is enough
CALL lake.system.add_files('t', 'parquet.`${folder}/.files/plain`');

CALL lake.system.add_files('t', 'parquet.`${folder}/.files/plain`', check_duplicate_files => false);

-- names that files know a column by stay that column's
ALTER TABLE t RENAME COLUMN s TO text;

ALTER TABLE t ADD COLUMN s STRING;

SELECT * FROM t ORDER BY id;

SHOW TBLPROPERTIES t ('schema.name-mapping.default');

-- the file's s is the table's text, and no longer its s
CALL lake.system.add_files('t', 'parquet.`${folder}/.files/plain`', check_duplicate_files => false);

-- folders tell the partition
CREATE TABLE by_day (id INT, day DATE) PARTITIONED BY (day);

CALL lake.system.add_files('by_day', 'parquet.`${folder}/.files/days`', map('day', '2024-01-02'));

SELECT * FROM by_day;

CALL lake.system.add_files('by_day', 'parquet.`${folder}/.files/days`', map('day', '2024-01-01'));

SELECT day, count(*) AS n FROM by_day WHERE day < DATE'2024-01-02' GROUP BY day;

CALL lake.system.add_files('by_day', 'parquet.`${folder}/.files/days`', map('id', '1'));

CALL lake.system.add_files('by_day', 'parquet.`${folder}/.files/days`', map('day', 'today'));

CALL lake.system.add_files('by_day', 'parquet.`${folder}/.files/plain`');

-- what does not fit
CALL lake.system.add_files('t', 'parquet.`${folder}/.files/days`');

CALL lake.system.add_files('t', 'parquet.`${folder}/.files/none`');

CALL lake.system.add_files('t', 'lake.foreign_data.by_day');

CREATE TABLE strict (id STRING, s STRING NOT NULL, CONSTRAINT c CHECK (id <> ''));

CALL lake.system.add_files('strict', 'parquet.`${folder}/.files/plain`');

ALTER TABLE strict DROP CONSTRAINT c;

CALL lake.system.add_files('strict', 'parquet.`${folder}/.files/plain`');

CALL lake.system.add_files('strict');

-- a new table over the files of others
CALL lake.system.snapshot('parquet.`${folder}/.files/days`', 'days', properties => map('owner-team', 'a'));

SELECT * FROM days WHERE day = DATE'2024-01-01';

SHOW TBLPROPERTIES days ('gc.enabled');

DROP TABLE days PURGE;

CALL lake.system.snapshot('parquet.`${folder}/.files/days`', 't');

-- a folder becomes a table in place
INSERT OVERWRITE DIRECTORY '${folder}/moved' USING parquet SELECT 7 AS id;

CALL lake.system.migrate('moved');

SELECT * FROM moved;

CALL lake.system.migrate('nowhere');

-- the metadata of a table elsewhere
CALL lake.system.register_table('registered', '${folder}/by_day/metadata/v2.metadata.json');

SELECT * FROM registered;

INSERT INTO registered VALUES (9, DATE'2024-01-09');

SELECT count(*) AS n FROM by_day;

CALL lake.system.register_table('registered', '${folder}/by_day/metadata/v2.metadata.json');

CALL lake.system.register_table('other', '${folder}/by_day/metadata/v99.metadata.json');

CALL lake.system.register_table('other', '/etc/passwd');
