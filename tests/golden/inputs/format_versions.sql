CREATE TABLE t (id INT, name STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3');

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');

-- rows have ids, and know the commit that changed them last
SELECT id, _row_id, _last_updated_sequence_number FROM t;

UPDATE t SET name = upper(name) WHERE id IN (2, 3);

SELECT id, name, _row_id, _last_updated_sequence_number FROM t;

MERGE INTO t USING (SELECT * FROM VALUES (1, 'x'), (3, 'gone'), (5, 'new') AS s(id, name)) AS s ON t.id = s.id
WHEN MATCHED AND s.name = 'gone' THEN DELETE
WHEN MATCHED THEN UPDATE SET name = s.name
WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name);

SELECT id, name, _row_id, _last_updated_sequence_number FROM t;

-- an upsert keeps them too
MERGE INTO t USING (SELECT * FROM VALUES (1, 'y'), (6, 'z') AS s(id, name)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

SELECT id, name, _row_id, _last_updated_sequence_number FROM t;

-- deletes are vectors, one for each data file
DELETE FROM t WHERE _row_id = 3;

SELECT content, file_format, record_count FROM lake.format_versions.t.delete_files;

-- an upgrade in place, step by step
CREATE TABLE old (id INT, name STRING) TBLPROPERTIES ('format-version'='1');

INSERT INTO old VALUES (1, 'a'), (2, 'b'), (3, 'c');

-- version 1 has no delete files: the data file is written anew
DELETE FROM old WHERE id = 4;

INSERT INTO old VALUES (4, 'd');

UPDATE old SET name = 'D' WHERE id = 4;

SELECT * FROM old;

ALTER TABLE old SET TBLPROPERTIES ('format-version'='2');

DELETE FROM old WHERE id = 1;

-- version 2 has no row ids
SELECT _row_id FROM old;

ALTER TABLE old SET TBLPROPERTIES ('format-version'='3');

-- the rows get theirs with the next commit
SELECT id, _row_id, _last_updated_sequence_number FROM old;

DELETE FROM old WHERE id = 2;

SELECT id, _row_id, _last_updated_sequence_number FROM old;

-- what position deletes and the new delete took out is one vector now
SELECT content, file_format, record_count FROM lake.format_versions.old.delete_files;

-- versions only rise
ALTER TABLE old SET TBLPROPERTIES ('format-version'='2');

ALTER TABLE old SET TBLPROPERTIES ('format-version'='4');

ALTER TABLE old SET TBLPROPERTIES ('format-version'='three');
