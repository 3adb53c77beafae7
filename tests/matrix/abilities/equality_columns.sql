-- Upserts into tables without a key
-- section: UPSERT
-- expect: 1 eu new, 1 us kept, 2 eu more
CREATE NAMESPACE lake.equality_columns;
CREATE TABLE lake.equality_columns.t (id INT, region STRING, v STRING) PARTITIONED BY (region)
  TBLPROPERTIES ('write.upsert.mode'='equality');
INSERT INTO lake.equality_columns.t VALUES (1, 'eu', 'old'), (1, 'us', 'kept');
UPSERT INTO lake.equality_columns.t WITH ('equality-field-columns'='id, region') VALUES (1, 'eu', 'new'), (2, 'eu', 'more');
SELECT concat_ws(', ', sort_array(collect_list(concat_ws(' ', id, region, v)))) FROM lake.equality_columns.t;
