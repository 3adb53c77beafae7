-- Branches and tags, written and read
-- section: Branches, tags and history
-- expect: main 1 | branch 2 | tag 1
CREATE NAMESPACE lake.branches_and_tags;
CREATE TABLE lake.branches_and_tags.t AS SELECT 1 AS id;
ALTER TABLE lake.branches_and_tags.t CREATE TAG v1 RETAIN 10 DAYS;
ALTER TABLE lake.branches_and_tags.t CREATE BRANCH audit;
INSERT INTO lake.branches_and_tags.t.branch_audit VALUES (2);
SELECT concat('main ', (SELECT count(*) FROM lake.branches_and_tags.t),
  ' | branch ', (SELECT count(*) FROM lake.branches_and_tags.t.branch_audit),
  ' | tag ', (SELECT count(*) FROM lake.branches_and_tags.t VERSION AS OF 'v1'));
