-- CALL fsck and health
-- section: Maintenance
-- expect: 1 0
CREATE NAMESPACE lake.fsck;
CREATE TABLE lake.fsck.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.fsck.t VALUES (1, 'a');
UPSERT INTO lake.fsck.t VALUES (1, 'b');
CALL lake.system.fsck('fsck.t', repair => true, check => 'files');
CALL lake.system.fsck();
CALL lake.system.health('fsck.t');
SELECT concat_ws(' ', count(*), (SELECT value FROM lake.fsck.t.health WHERE measure = 'tags')) FROM lake.fsck.t WHERE v = 'b';
