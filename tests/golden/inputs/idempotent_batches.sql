-- A batch of an application is written once, whatever the verb; a skipped one changes nothing
CREATE TABLE orders (id INT, region STRING, amount INT, PRIMARY KEY (id) NOT ENFORCED);
SET `sqlext.txn.app-id` = `loader`;
SET sqlext.txn.version = 1;
INSERT INTO orders VALUES (1, 'eu', 10), (2, 'eu', 20), (3, 'us', 30);
INSERT INTO orders VALUES (1, 'eu', 10), (2, 'eu', 20), (3, 'us', 30);
UPDATE orders SET amount = 0;
SELECT * FROM orders ORDER BY id;
SET sqlext.txn.version = 2;
UPDATE orders SET amount = amount + 1;
UPDATE orders SET amount = amount + 1;
SET sqlext.txn.version = 3;
UPSERT INTO orders VALUES (3, 'us', 31), (4, 'us', 40);
UPSERT INTO orders VALUES (3, 'us', 310), (4, 'us', 400);
SET sqlext.txn.version = 4;
MERGE INTO orders t USING (SELECT 4 AS id, 1 AS more) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = t.amount + s.more;
MERGE INTO orders t USING (SELECT 4 AS id, 1 AS more) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = t.amount + s.more;
SET sqlext.txn.version = 5;
DELETE FROM orders WHERE id = 1;
DELETE FROM orders WHERE id = 2;
SELECT * FROM orders ORDER BY id;
SET sqlext.txn.version = 6;
INSERT OVERWRITE orders VALUES (7, 'eu', 70);
INSERT OVERWRITE orders VALUES (8, 'eu', 80);
SELECT * FROM orders ORDER BY id;
SET sqlext.txn.version = 7;
TRUNCATE TABLE orders;
INSERT INTO orders VALUES (9, 'eu', 90);
SELECT count(*) FROM orders;

-- versions that are left out are those of no batch; an earlier one is skipped
SET sqlext.txn.version = 100;
INSERT INTO orders VALUES (10, 'eu', 100);
SET sqlext.txn.version = 50;
INSERT INTO orders VALUES (11, 'eu', 110);
SET `sqlext.txn.app-id` = `other/loader`;
INSERT INTO orders VALUES (12, 'eu', 120);
SELECT id FROM orders ORDER BY id;

-- a batch without effect is one of the table too; EXPLAIN and ALTER are no batches
SET sqlext.txn.version = 51;
EXPLAIN DELETE FROM orders WHERE id = 10;
ALTER TABLE orders ADD COLUMN note STRING;
DELETE FROM orders WHERE id = 1000;
DELETE FROM orders WHERE id = 10;
SELECT id FROM orders ORDER BY id;

-- the state is not shown, and a rollback does not take it back
SHOW TBLPROPERTIES orders;
SHOW CREATE TABLE orders;
RESET `sqlext.txn.app-id`;
RESET `sqlext.txn.version`;

-- tables have batches of their own, and a table that is made with rows has that of these rows
SET `sqlext.txn.app-id` = `loader`;
SET sqlext.txn.version = 9;
CREATE TABLE copied AS SELECT 1 AS id;
CREATE TABLE copied AS SELECT 2 AS id;
CREATE OR REPLACE TABLE copied AS SELECT 3 AS id;
INSERT INTO copied VALUES (4);
SELECT * FROM copied;
SET sqlext.txn.version = 10;
CREATE OR REPLACE TABLE copied AS SELECT 5 AS id;
CREATE OR REPLACE TABLE copied AS SELECT 6 AS id;
SELECT * FROM copied;
CREATE TABLE like_copied LIKE copied;
INSERT INTO like_copied VALUES (7);
SELECT * FROM like_copied;
RESET `sqlext.txn.app-id`;
RESET `sqlext.txn.version`;
CREATE OR REPLACE TABLE copied AS SELECT 8 AS id;
INSERT INTO copied WITH ('txn-app-id' = 'loader', 'txn-version' = '10') VALUES (9);
SELECT * FROM copied;
CREATE TABLE copied AS SELECT 9 AS id;

-- options of one write, which come before the session's settings
INSERT INTO copied WITH ('txn-app-id' = 'job', 'txn-version' = '0') VALUES (10);
INSERT INTO copied WITH ('txn-app-id' = 'job', 'txn-version' = '0') VALUES (11);
INSERT INTO copied WITH ('txnAppId' = 'job', 'txnVersion' = '1') VALUES (12);
SET `sqlext.txn.app-id` = `job`;
SET sqlext.txn.version = 1;
INSERT INTO copied WITH ('txn-app-id' = 'job', 'txn-version' = '9223372036854775807') VALUES (13);
RESET `sqlext.txn.app-id`;
RESET `sqlext.txn.version`;
SELECT * FROM copied ORDER BY id;

-- the statements of a transaction are one batch
BEGIN;
SET `sqlext.txn.app-id`=daily-load;
SET sqlext.txn.version = 1;
INSERT INTO copied VALUES (20);
INSERT INTO copied VALUES (21);
DELETE FROM copied WHERE id = 20;
INSERT INTO like_copied VALUES (20);
COMMIT;
BEGIN;
INSERT INTO copied VALUES (22);
INSERT INTO like_copied VALUES (22);
COMMIT;
SET sqlext.txn.version = 2;
BEGIN;
INSERT INTO copied VALUES (23);
ROLLBACK;
INSERT INTO copied VALUES (24);
INSERT INTO copied VALUES (25);
RESET `sqlext.txn.app-id`;
RESET `sqlext.txn.version`;
SELECT * FROM copied ORDER BY id;
SELECT * FROM like_copied ORDER BY id;

-- what is refused
INSERT INTO copied WITH ('txn-app-id' = 'job') VALUES (30);
INSERT INTO copied WITH ('txnVersion' = '3') VALUES (30);
INSERT INTO copied WITH ('txn-app-id' = ' ', 'txn-version' = '3') VALUES (30);
INSERT INTO copied WITH ('txn-app-id' = 'job', 'txn-version' = '-1') VALUES (30);
INSERT INTO copied WITH ('txn-app-id' = 'job', 'txn-version' = '9223372036854775808') VALUES (30);
INSERT INTO copied WITH ('txn-application' = 'job', 'txn-version' = '1') VALUES (30);
SET `sqlext.txn.app-id` = `job`;
DELETE FROM copied;
SET sqlext.txn.version = first;
DELETE FROM copied;
SET sqlext.txn.version = 1;
SET sqlext.txn.appid = job;
DELETE FROM copied;
RESET `sqlext.txn.appid`;
RESET `sqlext.txn.app-id`;
RESET `sqlext.txn.version`;
ALTER TABLE copied SET TBLPROPERTIES ('sqlext.txn.job' = '7');
SELECT count(*) FROM copied;

-- the record is removed by UNSET TBLPROPERTIES: the batch may run again
ALTER TABLE copied UNSET TBLPROPERTIES ('sqlext.txn.job');
INSERT INTO copied WITH ('txn-app-id' = 'job', 'txn-version' = '1') VALUES (31);
