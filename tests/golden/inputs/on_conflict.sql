-- rows whose key is there do nothing
CREATE TABLE t (id INT, n INT, v STRING, PRIMARY KEY (id));

INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b') ON CONFLICT DO NOTHING;

INSERT INTO t VALUES (2, 20, 'B'), (3, 30, 'C') ON CONFLICT (id) DO NOTHING;

INSERT INTO t SELECT * FROM t ON CONFLICT (id) DO NOTHING;

SELECT * FROM t;

-- or change the stored row: `excluded` is the proposed one, a bare name the stored one's
INSERT INTO t (id, n) VALUES (2, 20), (4, 40) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n;

INSERT INTO t AS x SELECT 3, 5, 'five' ON CONFLICT (ID) DO UPDATE SET n = n + excluded.n, v = concat(x.v, excluded.v)
WHERE x.n > 10 AND excluded.n < 10;

INSERT INTO t VALUES (1, 100, 'z'), (9, 9, 'z') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE n > 1;

WITH m AS (SELECT 7 AS seven) INSERT INTO t SELECT 1, seven, 'w' FROM m
ON CONFLICT (id) DO UPDATE SET n = (SELECT max(seven) FROM m) + t.n, v = DEFAULT;

INSERT INTO t VALUES (2, 0, NULL) ON CONFLICT (id) DO UPDATE SET v = coalesce(excluded.v, upper(v)), id = excluded.id;

SELECT * FROM t;

-- the whole row, which is an upsert
INSERT INTO t VALUES (1, -1, 'whole'), (6, 6, 'six') ON CONFLICT (id) DO UPDATE SET n = excluded.n, v = excluded.v;

-- with row kinds
INSERT INTO t (id, n, v, _row_kind) VALUES (6, 6, 'six', '-D'), (77, 0, NULL, '-D'), (2, 1, 'u', '+U')
ON CONFLICT (id) DO UPDATE SET n = t.n * 1000;

SELECT * FROM t;

-- a key twice: refused, unless nothing would be done
INSERT INTO t VALUES (1, 100, 'z'), (1, 9, 'z') ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE false;

INSERT INTO t VALUES (55, 100, 'z'), (55, 9, 'z') ON CONFLICT DO NOTHING;

INSERT INTO t VALUES (1, 100, 'z'), (1, 9, 'z') ON CONFLICT DO NOTHING;

-- errors
INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (n) DO NOTHING;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id, n) DO UPDATE SET n = 1;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT DO UPDATE SET n = 1;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO UPDATE SET id = 5;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO UPDATE SET nope = 5;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO UPDATE SET n = excluded.nope;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO UPDATE SET n = 'many';

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO UPDATE SET n = 1, n = 2;

INSERT INTO t VALUES (NULL, 1, 'a') ON CONFLICT DO NOTHING;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT ON CONSTRAINT pk DO NOTHING;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) WHERE n > 1 DO NOTHING;

INSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO NOTHING RETURNING id;

UPSERT INTO t VALUES (1, 1, 'a') ON CONFLICT (id) DO NOTHING;

INSERT OVERWRITE t VALUES (1, 1, 'a') ON CONFLICT (id) DO NOTHING;

CREATE TABLE unkeyed (id INT);

INSERT INTO unkeyed VALUES (1) ON CONFLICT DO NOTHING;

SELECT * FROM t;

-- two key columns, version 3 and its row ids, an enforced key, a check, a sequence field
CREATE TABLE wide (country STRING, id BIGINT, hits INT CHECK (hits < 100), at INT, PRIMARY KEY (country, id) ENFORCED)
PARTITIONED BY (bucket(2, id)) TBLPROPERTIES ('format-version'='3', 'write.upsert.sequence-field'='at');

INSERT INTO wide VALUES ('cz', 1, 1, 0), ('de', 1, 1, 0) ON CONFLICT (id, country) DO UPDATE SET hits = wide.hits + 1;

INSERT INTO wide VALUES ('cz', 1, 1, 1), ('cz', 1, 5, 2), ('fr', 1, 1, NULL)
ON CONFLICT (id, country) DO UPDATE SET hits = wide.hits + excluded.hits;

INSERT INTO wide VALUES ('cz', 1, 99, 1) ON CONFLICT (id, country) DO UPDATE SET hits = wide.hits + excluded.hits;

SELECT country, id, hits, at, _row_id FROM wide;

-- by equality deletes only a whole row can go in; what looks at the stored row resolves it
CREATE TABLE e (id INT, n INT, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality');

INSERT INTO e VALUES (1, 1), (2, 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n;

INSERT INTO e VALUES (1, 10), (3, 3) ON CONFLICT (id) DO UPDATE SET n = e.n + excluded.n;

INSERT INTO e VALUES (1, 10) ON CONFLICT (id) DO UPDATE SET n = e.n + excluded.n WHERE excluded.n;

SELECT * FROM e;
