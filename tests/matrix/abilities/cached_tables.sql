-- CACHE TABLE, never stale
-- section: SELECT
-- expect: 1 2
CREATE NAMESPACE lake.cached_tables;
CREATE TABLE lake.cached_tables.t AS SELECT 1 AS id;
CACHE TABLE lake.cached_tables.t;
INSERT INTO lake.cached_tables.t VALUES (2);
SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.cached_tables.t;
