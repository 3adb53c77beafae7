CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality');

INSERT INTO t VALUES (1, 'a'), (2, 'b');

MERGE INTO t USING (SELECT 1 AS id, 'A' AS v) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

DELETE FROM t WHERE id = 2;

SELECT * FROM t;

SELECT * FROM t VERSION AS OF ${snapshot:t:1};

-- the id as text
SELECT * FROM t VERSION AS OF '${snapshot:t:2}';

SELECT * FROM t FOR SYSTEM_VERSION AS OF ${snapshot:t:2} WHERE id = 1;

SELECT * FROM t TIMESTAMP AS OF '${timestamp:t:1}';

SELECT count(*) AS n FROM t FOR SYSTEM_TIME AS OF '${timestamp:t:3}';

-- two moments side by side
SELECT now.id, now.v AS now, before.v AS before
FROM t AS now JOIN t VERSION AS OF ${snapshot:t:1} AS before ON now.id = before.id;

SELECT * FROM t TIMESTAMP AS OF '2001-01-01 00:00:00';

SELECT * FROM t VERSION AS OF 42;

SELECT * FROM t VERSION AS OF 'no-such-ref';
