CREATE TABLE orders (id INT, region STRING, amount DECIMAL(9, 2), PRIMARY KEY (id));

INSERT INTO orders VALUES (1, 'eu', 10.5), (2, 'us', 20), (3, 'eu', 30);

-- names, comments and properties beside the query, which stays as it is written
CREATE VIEW eu_orders (order_id COMMENT 'as in orders', amount) COMMENT 'of Europe' TBLPROPERTIES ('team' = 'sales') AS
SELECT id, -- the key
       amount
FROM orders WHERE region = 'eu';

SELECT * FROM eu_orders ORDER BY order_id;

DESCRIBE eu_orders;

DESCRIBE EXTENDED eu_orders;

SHOW CREATE TABLE eu_orders;

SHOW TBLPROPERTIES eu_orders;

SHOW COLUMNS IN eu_orders;

-- a view over a view, of another namespace, whose names mean what they meant here
CREATE NAMESPACE lake.views.deep;

CREATE VIEW lake.views.deep.totals AS SELECT sum(o.amount) AS total, count(*) AS n FROM eu_orders AS o;

USE spark_catalog.default;

SELECT lake.views.deep.totals.total, totals.n FROM lake.views.deep.totals;

USE lake.views;

-- columns that the table gets later stay out
CREATE VIEW everything AS SELECT * FROM orders;

ALTER TABLE orders ADD COLUMN note STRING;

SELECT * FROM everything ORDER BY id;

-- an old snapshot
CREATE VIEW at_first AS SELECT count(*) AS n FROM orders VERSION AS OF ${snapshot:orders:1};

INSERT INTO orders VALUES (4, 'us', 40, null);

SELECT at_first.n, everything.n FROM at_first, (SELECT count(*) AS n FROM everything) AS everything;

-- as the source of a change
MERGE INTO orders AS t USING eu_orders AS s ON t.id = s.order_id WHEN MATCHED THEN UPDATE SET note = 'seen';

SHOW VIEWS;

SHOW VIEWS IN lake.views LIKE 'e*|no';

SHOW TABLES;

CREATE OR REPLACE VIEW eu_orders AS SELECT id AS order_id, amount, note FROM orders WHERE region = 'eu';

SELECT * FROM eu_orders ORDER BY order_id;

-- those above it are not changed by that
SELECT * FROM lake.views.deep.totals;

ALTER VIEW at_first AS SELECT max(id) AS n, 'now' AS at FROM orders;

ALTER VIEW at_first SET TBLPROPERTIES ('a' = '1', 'b' = '2');

ALTER VIEW at_first UNSET TBLPROPERTIES ('a');

ALTER VIEW at_first UNSET TBLPROPERTIES ('a');

ALTER VIEW at_first RENAME TO newest;

SHOW CREATE TABLE newest;

SELECT * FROM newest;

CREATE VIEW IF NOT EXISTS newest AS SELECT 1 AS a;

-- refused
SELECT * FROM at_first;

CREATE VIEW newest AS SELECT 1 AS a;

CREATE VIEW orders AS SELECT 1 AS a;

CREATE OR REPLACE VIEW orders AS SELECT 1 AS a;

CREATE TABLE newest (id INT);

CREATE OR REPLACE TABLE newest (id INT);

CREATE VIEW refused AS SELECT max(id) FROM orders;

CREATE VIEW refused (a, b) AS SELECT 1;

CREATE VIEW refused AS SELECT 1 AS a, 2 AS A;

CREATE VIEW refused AS SELECT no_such_column FROM orders;

CREATE VIEW refused AS SELECT INTERVAL '1' DAY AS i;

CREATE VIEW refused TBLPROPERTIES ('password' = 'x') AS SELECT 1 AS a;

CREATE OR REPLACE VIEW eu_orders AS SELECT total FROM lake.views.deep.totals;

CREATE TEMPORARY VIEW passing AS SELECT 1 AS a;

CREATE VIEW refused AS SELECT * FROM passing;

ALTER VIEW passing AS SELECT 2 AS a;

INSERT INTO newest VALUES (1, 'x');

UPDATE newest SET n = 1;

SELECT * FROM newest VERSION AS OF 1;

SELECT * FROM lake.views.newest.snapshots;

ALTER TABLE newest ADD COLUMN x INT;

DROP TABLE newest;

DROP VIEW orders;

DROP VIEW no_such_view;

DROP NAMESPACE lake.views.deep;

-- a temporary view of that name goes first, as in Spark
DROP VIEW passing;

DROP VIEW newest;

DROP VIEW IF EXISTS newest;

DROP NAMESPACE lake.views.deep CASCADE;

SHOW VIEWS;
