-- UPSERT, replaced rows marked by position
-- section: UPSERT
-- expect: 1a 2B 3c
CREATE NAMESPACE lake.upsert;
CREATE TABLE lake.upsert.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.upsert.t VALUES (1, 'a'), (2, 'b');
UPSERT INTO lake.upsert.t VALUES (2, 'B'), (3, 'C');
INSERT INTO lake.upsert.t /*+ OPTIONS('upsert-enabled'='true') */ SELECT 3, 'c';
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.upsert.t;
