-- VOID columns, until they get a type
-- section: Types
-- expect: 1null 2later
CREATE NAMESPACE lake.void_columns;
CREATE TABLE lake.void_columns.t (id INT, v VOID) TBLPROPERTIES ('format-version'='3');
INSERT INTO lake.void_columns.t VALUES (1, NULL);
ALTER TABLE lake.void_columns.t ALTER COLUMN v TYPE STRING;
INSERT INTO lake.void_columns.t VALUES (2, 'later');
SELECT array_join(sort_array(collect_list(concat(id, coalesce(v, 'null')))), ' ') FROM lake.void_columns.t;
