-- CALL rewrite_manifests
-- section: Maintenance
-- expect: 3 3 1
CREATE NAMESPACE lake.rewritten_manifests;
CREATE TABLE lake.rewritten_manifests.t (id INT);
INSERT INTO lake.rewritten_manifests.t VALUES (1);
INSERT INTO lake.rewritten_manifests.t VALUES (2);
INSERT INTO lake.rewritten_manifests.t VALUES (3);
CALL lake.system.rewrite_manifests('rewritten_manifests.t');
SELECT concat_ws(' ', count(*), max(id), (SELECT count(*) FROM lake.rewritten_manifests.t.manifests)) FROM lake.rewritten_manifests.t;
