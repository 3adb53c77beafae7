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
