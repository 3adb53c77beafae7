CREATE NAMESPACE lake.namespaces_and_show.inner;

CREATE NAMESPACE IF NOT EXISTS lake.namespaces_and_show.inner;

CREATE NAMESPACE lake.namespaces_and_show.inner;

CREATE TABLE lake.namespaces_and_show.inner.t (id INT);

CREATE TABLE a_table (id INT);

CREATE TABLE b_table (id INT, name STRING);

SHOW TABLES;

SHOW TABLES IN lake.namespaces_and_show.inner;

SHOW TABLES LIKE 'a*';

SHOW NAMESPACES IN lake.namespaces_and_show;

SHOW COLUMNS IN b_table;

SHOW TBLPROPERTIES b_table;

SELECT current_catalog() AS catalog, current_schema() AS namespace;

-- a namespace that holds a table
DROP NAMESPACE lake.namespaces_and_show.inner;

DROP NAMESPACE lake.namespaces_and_show.inner CASCADE;

SHOW NAMESPACES IN lake.namespaces_and_show;

DROP NAMESPACE IF EXISTS lake.namespaces_and_show.inner;

DROP NAMESPACE lake.namespaces_and_show.inner;

SHOW TABLES IN lake.namespaces_and_show.inner;

USE lake.no_such_namespace;
