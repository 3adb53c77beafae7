-- RESTORE, fast-forward and other moves of branches
-- section: Branches, tags and history
-- expect: 1 then 2
CREATE NAMESPACE lake.history;
CREATE TABLE lake.history.t AS SELECT 1 AS id;
ALTER TABLE lake.history.t CREATE TAG first;
ALTER TABLE lake.history.t CREATE BRANCH next;
INSERT INTO lake.history.t.branch_next VALUES (2);
INSERT INTO lake.history.t VALUES (3);
RESTORE TABLE lake.history.t TO VERSION AS OF 'first';
CREATE TABLE lake.history.seen AS SELECT count(*) AS n FROM lake.history.t;
CALL lake.system.fast_forward('history.t', 'main', 'next');
SELECT concat_ws(' ', (SELECT n FROM lake.history.seen), 'then', (SELECT count(*) FROM lake.history.t));
