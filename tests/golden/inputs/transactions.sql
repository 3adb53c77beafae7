-- Statements between BEGIN and COMMIT read their own writes and land together
CREATE TABLE debit (id INT, balance BIGINT, PRIMARY KEY (id) NOT ENFORCED);
CREATE TABLE credit (id INT, balance BIGINT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO debit VALUES (1, 100), (2, 100);
INSERT INTO credit VALUES (1, 0);
BEGIN TRANSACTION;
UPDATE debit SET balance = balance - 40 WHERE id = 1;
MERGE INTO credit AS t USING (SELECT 1 AS id, 40L AS paid) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET balance = t.balance + s.paid;
SELECT 'debit' AS side, * FROM debit UNION ALL SELECT 'credit', * FROM credit ORDER BY side, id;
COMMIT;
SELECT 'debit' AS side, * FROM debit UNION ALL SELECT 'credit', * FROM credit ORDER BY side, id;

-- ROLLBACK leaves nothing, ROLLBACK TO what was before the savepoint
BEGIN;
DELETE FROM debit;
SELECT count(*) FROM debit;
ROLLBACK;
SELECT count(*) FROM debit;
START TRANSACTION;
INSERT INTO debit VALUES (3, 3);
SAVEPOINT three;
INSERT INTO debit VALUES (4, 4);
SAVEPOINT four;
ROLLBACK TO SAVEPOINT three;
INSERT INTO debit VALUES (5, 5);
RELEASE SAVEPOINT three;
COMMIT WORK;
SELECT * FROM debit ORDER BY id;

-- one and the same table several times, rows of the transaction changed by the transaction
BEGIN;
INSERT INTO credit VALUES (7, 1);
UPDATE credit SET balance = 2 WHERE id = 7;
UPSERT INTO credit SELECT 7, 3L;
DELETE FROM credit WHERE id = 1;
ALTER TABLE credit ADD COLUMN note STRING;
INSERT INTO credit VALUES (8, 8, 'eight');
SELECT * FROM credit ORDER BY id;
COMMIT;
SELECT * FROM credit ORDER BY id;
SELECT operation, count(*) FROM lake.transactions.credit.snapshots GROUP BY operation ORDER BY operation;

-- what is refused
COMMIT;
ROLLBACK;
SAVEPOINT alone;
BEGIN;
BEGIN;
ROLLBACK TO nowhere;
DROP TABLE debit;
CREATE NAMESPACE lake.later;
CREATE VIEW v AS SELECT 1 AS one;
ROLLBACK;

-- isolation levels
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM debit;
INSERT INTO credit VALUES (20, 20, 'serializable');
COMMIT;
START TRANSACTION ISOLATION LEVEL SNAPSHOT;
INSERT INTO credit VALUES (21, 21, 'snapshot');
COMMIT TRANSACTION;
BEGIN WORK ISOLATION LEVEL REPEATABLE READ;
INSERT INTO credit VALUES (22, 22, 'repeatable read');
ROLLBACK WORK;
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT id, note FROM credit WHERE id >= 20 ORDER BY id;

-- a savepoint hides an older one of its name until it is released
BEGIN;
INSERT INTO debit VALUES (30, 1);
SAVEPOINT s;
INSERT INTO debit VALUES (31, 1);
SAVEPOINT S;
INSERT INTO debit VALUES (32, 1);
ROLLBACK TO s;
SELECT id FROM debit WHERE id >= 30 ORDER BY id;
RELEASE s;
ROLLBACK TO s;
SELECT id FROM debit WHERE id >= 30 ORDER BY id;
RELEASE SAVEPOINT s;
RELEASE SAVEPOINT s;
COMMIT;
SELECT id FROM debit WHERE id >= 30 ORDER BY id;

-- a statement that fails leaves the transaction as it was before it
BEGIN;
UPDATE debit SET balance = 7 WHERE id = 30;
INSERT INTO debit VALUES (CAST('no number' AS INT), 1);
MERGE INTO debit AS t USING (SELECT 30 AS id UNION ALL SELECT 30) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET balance = 8;
SELECT no_such_column FROM debit;
COMMIT;
SELECT balance FROM debit WHERE id = 30;

-- a table that is made in a transaction: alone in a folder, and not beside changes of others
BEGIN;
CREATE TABLE made (id INT);
INSERT INTO made VALUES (1);
SELECT * FROM made;
COMMIT;
SELECT * FROM made;
BEGIN;
CREATE TABLE unmade AS SELECT 1 AS id;
INSERT INTO made VALUES (2);
COMMIT;
SELECT * FROM made;
SELECT * FROM unmade;
BEGIN;
CREATE TABLE never AS SELECT 1 AS id;
ROLLBACK;
SELECT * FROM never;

-- more of what is refused
BEGIN;
ALTER TABLE debit RENAME TO renamed;
ALTER NAMESPACE lake.transactions SET PROPERTIES ('owner' = 'Ada');
UNDROP TABLE debit;
ROLLBACK;
