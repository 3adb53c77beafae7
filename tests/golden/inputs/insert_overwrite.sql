CREATE TABLE whole (id INT, name STRING);

INSERT INTO whole VALUES (1, 'a'), (2, 'b');

INSERT OVERWRITE whole VALUES (3, 'c');

SELECT * FROM whole;

-- by the table's own rows
INSERT OVERWRITE TABLE whole SELECT id + 1, name FROM whole;

SELECT * FROM whole;

-- with nothing: the table is empty
INSERT OVERWRITE whole SELECT * FROM whole WHERE false;

SELECT count(*) AS n FROM whole;

CREATE TABLE by_day (id INT, day DATE, kind STRING) PARTITIONED BY (day, kind);

INSERT INTO by_day VALUES (1, DATE'2024-01-01', 'x'), (2, DATE'2024-01-02', 'x'), (3, DATE'2024-01-02', 'y');

-- static: one partition is replaced
INSERT OVERWRITE by_day PARTITION (day = DATE'2024-01-02', kind = 'x') SELECT 20;

SELECT * FROM by_day;

-- half static: all kinds of the day
INSERT OVERWRITE by_day PARTITION (day = DATE'2024-01-02') SELECT 30, 'z';

SELECT * FROM by_day;

SET spark.sql.sources.partitionOverwriteMode=dynamic;

-- dynamic: only the partitions that receive rows
INSERT OVERWRITE by_day VALUES (40, DATE'2024-01-01', 'x'), (41, DATE'2024-01-03', 'x');

SELECT * FROM by_day;

INSERT OVERWRITE by_day SELECT * FROM by_day WHERE false;

SELECT count(*) AS n FROM by_day;

RESET spark.sql.sources.partitionOverwriteMode;

-- the files of a partition go whole, its delete files with them
DELETE FROM by_day WHERE id = 40;

INSERT INTO by_day VALUES (42, DATE'2024-01-01', 'x'), (43, DATE'2024-01-01', 'y');

UPDATE by_day SET id = 44 WHERE id = 43;

INSERT OVERWRITE by_day PARTITION (day = '2024-01-01', kind = 'x') VALUES (50);

INSERT OVERWRITE by_day PARTITION (day = '2024-01-01') SELECT 51, 'z' WHERE false;

SELECT * FROM by_day;

SELECT content, record_count FROM lake.insert_overwrite.by_day.files;

-- nulls are a partition
INSERT INTO by_day VALUES (60, NULL, 'x');

INSERT OVERWRITE by_day PARTITION (day = NULL, kind) SELECT 61, 'n';

SELECT * FROM by_day;

-- format version 1
CREATE TABLE first_version (id INT, kind STRING) PARTITIONED BY (kind) TBLPROPERTIES ('format-version'='1');

INSERT INTO first_version VALUES (1, 'a'), (2, 'b');

INSERT OVERWRITE first_version PARTITION (kind = 'a') SELECT 3;

SELECT * FROM first_version;

INSERT OVERWRITE first_version VALUES (4, 'd');

SELECT * FROM first_version;

-- a value that the column cannot hold
INSERT OVERWRITE by_day PARTITION (day = 'someday') SELECT 1, 'x';

INSERT OVERWRITE by_day PARTITION (day = '2024-01-01') IF NOT EXISTS SELECT 1, 'x';

-- a partition column that is none
INSERT OVERWRITE by_day PARTITION (id = 1) SELECT DATE'2024-01-01', 'x';

-- the rows of a condition
CREATE TABLE replaced (id INT, v STRING);

INSERT INTO replaced VALUES (1, 'a'), (2, 'b'), (3, 'c');

INSERT INTO replaced REPLACE WHERE id < 3 SELECT id, 'new' FROM VALUES (1), (-1) AS s(id);

INSERT INTO replaced REPLACE WHERE id > 100 SELECT 101, 'none there';

SELECT * FROM replaced;

INSERT INTO IDENTIFIER('lake.insert_overwrite.replaced') VALUES (4, 'd');
