-- statements of Delta for what CALL compact, expire_snapshots and remove_orphan_files do
CREATE TABLE t (id INT, part STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.metadata.previous-versions-max'='2');

INSERT INTO t VALUES (1, 'a');

INSERT INTO t VALUES (2, 'a');

INSERT INTO t VALUES (3, 'b');

OPTIMIZE t WHERE id > 100;

OPTIMIZE lake.optimize_and_vacuum.t FULL WHERE part = 'a' OR part = 'it''s \\ b';

SELECT * FROM t ORDER BY id;

OPTIMIZE t FULL;

OPTIMIZE t;

VACUUM t DRY RUN;

VACUUM t;

SELECT count(*) FROM lake.optimize_and_vacuum.t.snapshots;

-- younger orphan files stay, as statements that are running may commit them
CREATE TABLE kept AS SELECT 1 AS id;

VACUUM kept RETAIN 0 HOURS DRY RUN;

VACUUM kept RETAIN 0 HOURS;

VACUUM kept RETAIN 200 HOURS DRY RUN;

SELECT * FROM kept;

-- refusals
OPTIMIZE t ZORDER BY (id);

OPTIMIZE t WHERE part = 'a' ZORDER BY id;

OPTIMIZE t WHERE;

OPTIMIZE nothing;

OPTIMIZE t WHERE nothing = 1;

VACUUM t RETAIN 1 DAY;

VACUUM t RETAIN -1 HOURS;

VACUUM t LITE;

VACUUM nothing;

OPTIMIZE spark_catalog.default.t;

BEGIN;

VACUUM t;

ROLLBACK;
