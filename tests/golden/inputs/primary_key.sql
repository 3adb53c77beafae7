-- the key's columns become required
CREATE TABLE single (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED);

DESCRIBE TABLE single;

-- column form
CREATE TABLE in_column (id BIGINT PRIMARY KEY, name STRING);

SHOW CREATE TABLE in_column;

-- several columns: a set, which is shown in the table's order
CREATE TABLE pair (day DATE, id INT, v DOUBLE, PRIMARY KEY (id, day)) PARTITIONED BY (day);

SHOW CREATE TABLE pair;

-- a named constraint
CREATE TABLE named (id INT, CONSTRAINT pk_named PRIMARY KEY (id) NOT ENFORCED);

SHOW CREATE TABLE named;

-- a key written in another case than its column
CREATE TABLE cased (Id INT, v STRING, PRIMARY KEY (ID));

SHOW CREATE TABLE cased;

-- null in the key
INSERT INTO single VALUES (1, 'a'), (CAST(NULL AS INT), 'b');

-- nothing of that statement is there
SELECT * FROM single;

-- NOT ENFORCED: a plain INSERT does not look for the key
INSERT INTO single VALUES (1, 'a'), (1, 'again');

SELECT * FROM single;

-- a key must not be a floating number
CREATE TABLE bad_double (id DOUBLE, PRIMARY KEY (id));

-- nor a list
CREATE TABLE bad_list (ids ARRAY<INT>, PRIMARY KEY (ids));

-- nor a column that is not there
CREATE TABLE bad_name (id INT, PRIMARY KEY (key));

-- nor the same column twice
CREATE TABLE bad_twice (id INT, PRIMARY KEY (id, id));

-- nor two keys
CREATE TABLE bad_two (id INT PRIMARY KEY, k INT, PRIMARY KEY (k));

SHOW TABLES;
