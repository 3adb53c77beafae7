-- CALL merge_branch, with a row that both branches changed
-- section: Branches, tags and history
-- expect: 1 theirs | 2 ours | 3 new
CREATE NAMESPACE lake.merge_branch;
CREATE TABLE lake.merge_branch.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.merge_branch.t VALUES (1, 'a'), (2, 'b');
ALTER TABLE lake.merge_branch.t CREATE BRANCH audit;
UPSERT INTO lake.merge_branch.t.branch_audit VALUES (1, 'theirs'), (2, 'theirs'), (3, 'new');
UPDATE lake.merge_branch.t SET v = 'ours' WHERE id = 2;
CALL lake.system.merge_branch(table => 'merge_branch.t', branch => 'audit', conflict => 'ours');
SELECT array_join(sort_array(collect_list(concat(id, ' ', v))), ' | ') FROM lake.merge_branch.t;
