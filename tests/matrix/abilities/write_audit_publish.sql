-- Write, audit, publish
-- section: Branches, tags and history
-- expect: 1 then 2
CREATE NAMESPACE lake.write_audit_publish;
CREATE TABLE lake.write_audit_publish.t TBLPROPERTIES ('write.wap.enabled'='true') AS SELECT 1 AS id;
SET spark.wap.id = nightly;
INSERT INTO lake.write_audit_publish.t VALUES (2);
RESET spark.wap.id;
CREATE TABLE lake.write_audit_publish.seen AS SELECT count(*) AS n FROM lake.write_audit_publish.t;
CALL lake.system.publish_changes('write_audit_publish.t', 'nightly');
SELECT concat_ws(' ', (SELECT n FROM lake.write_audit_publish.seen), 'then',
  (SELECT count(*) FROM lake.write_audit_publish.t));
