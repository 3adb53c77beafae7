-- BEGIN, SAVEPOINT, COMMIT, ROLLBACK on several tables
-- section: Transactions
-- expect: 60 40 2 snapshots
CREATE NAMESPACE lake.transactions;
CREATE TABLE lake.transactions.debit AS SELECT 1 AS id, 100 AS balance;
CREATE TABLE lake.transactions.credit AS SELECT 1 AS id, 0 AS balance;
BEGIN;
UPDATE lake.transactions.debit SET balance = balance - 40;
UPDATE lake.transactions.credit SET balance = balance + 40;
SAVEPOINT paid;
DELETE FROM lake.transactions.debit;
ROLLBACK TO paid;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
DELETE FROM lake.transactions.credit;
ROLLBACK;
SELECT concat_ws(' ', (SELECT sum(balance) FROM lake.transactions.debit),
  (SELECT sum(balance) FROM lake.transactions.credit),
  (SELECT count(*) FROM lake.transactions.credit.snapshots), 'snapshots');
