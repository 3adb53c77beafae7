CREATE TABLE c (id INT, v STRING, PRIMARY KEY (id));

INSERT INTO c VALUES (1, 'a');

ALTER TABLE c CREATE TAG `rel-1.0`;

ALTER TABLE c CREATE BRANCH b;

INSERT INTO c VALUES (2, 'b');

CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id));

-- reads
SELECT * FROM c /*+ OPTIONS('tag'='rel-1.0') */;

SELECT now.id AS now, x.id AS then FROM c AS now, c /*+ OPTIONS('snapshot-id'='${snapshot:c:1}') */ AS x;

INSERT INTO t SELECT * FROM c /*+ OPTIONS('snapshot-id'='${snapshot:c:1}') */;

MERGE INTO t USING c /*+ OPTIONS('branch'='b') */ AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET v = s.v || '!' WHEN NOT MATCHED THEN INSERT *;

SELECT * FROM t;

-- a view keeps its text
CREATE VIEW first_rows AS SELECT id FROM c /*+ OPTIONS('tag'='rel-1.0') */;

SHOW CREATE TABLE first_rows;

SELECT * FROM first_rows;

-- no hints
SELECT '/*+ OPTIONS(1) */' AS text /* OPTIONS('tag'='rel-1.0') */ FROM c -- /*+ OPTIONS('tag'='rel-1.0') */
WHERE id = 2;

SELECT /*+ BROADCAST(c) */ count(*) AS n FROM c JOIN c /*+ OPTIONS('tag'='rel-1.0') */ AS x USING (id);

-- where no hint may stand
SELECT /*+ OPTIONS('tag'='rel-1.0') */ * FROM c;

SELECT *
FROM c AS x /*+ OPTIONS('tag'='rel-1.0') */;

SELECT * FROM (SELECT * FROM c) /*+ OPTIONS('tag'='rel-1.0') */;

TABLE c /*+ OPTIONS('tag'='rel-1.0') */;

DELETE FROM t /*+ OPTIONS('branch'='b') */ WHERE id = 1;

UPDATE t /*+ OPTIONS('branch'='b') */ SET v = 'x';

MERGE INTO t /*+ OPTIONS('branch'='b') */ USING c ON t.id = c.id WHEN MATCHED THEN DELETE;

MERGE INTO t USING c ON t.id = c.id /*+ OPTIONS('branch'='b') */ WHEN MATCHED THEN DELETE;

INSERT INTO t VALUES (3, 'c') /*+ OPTIONS('branch'='b') */;

MERGE INTO t USING c /*+ BROADCAST(c) */ ON t.id = c.id WHEN MATCHED THEN DELETE;

-- what has no versions
WITH w AS (SELECT * FROM c) SELECT * FROM w /*+ OPTIONS('tag'='rel-1.0') */;

SELECT * FROM first_rows /*+ OPTIONS('tag'='rel-1.0') */;

-- two places
SELECT * FROM c VERSION AS OF ${snapshot:c:1} /*+ OPTIONS('branch'='b') */;

SELECT * FROM c /*+ OPTIONS('branch'='b') */ VERSION AS OF ${snapshot:c:1};

SELECT * FROM lake.read_hints.c.branch_b /*+ OPTIONS('branch'='b') */;

SELECT * FROM c /*+ OPTIONS('branch'='b', 'tag'='rel-1.0') */;

-- options
SELECT * FROM c /*+ OPTIONS('streaming'='true') */;

SELECT * FROM c /*+ OPTIONS('limit'='1') */;

SELECT * FROM c /*+ OPTIONS('start-snapshot-id'='1') */;

SELECT * FROM c /*+ OPTIONS('snapshot_id'='1') */;

SELECT * FROM c /*+ OPTIONS('tag'='b') */;

SELECT * FROM c /*+ OPTIONS('tag'='rel-1.0' */;

INSERT INTO t SELECT * FROM c /*+ OPTIONS('streaming'='true') */;

SELECT * FROM t;
