-- Generated columns, computed on each change
-- section: CREATE TABLE
-- expect: 1 22 2024-01-01 | 2 40 2024-01-02 | 3 6 null
CREATE NAMESPACE lake.generated_columns;
CREATE TABLE lake.generated_columns.t (
  id INT PRIMARY KEY, n INT, ts TIMESTAMP_NTZ,
  twice INT GENERATED ALWAYS AS (n * 2), day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)));
INSERT INTO lake.generated_columns.t (id, n, ts) VALUES (1, 1, TIMESTAMP_NTZ'2024-01-01 12:00:00');
INSERT INTO lake.generated_columns.t VALUES (2, 2, TIMESTAMP_NTZ'2024-01-02 12:00:00', 4, NULL);
UPDATE lake.generated_columns.t SET n = 11 WHERE id = 1;
MERGE INTO lake.generated_columns.t t USING (VALUES (2, 20), (3, 3)) s (id, n) ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n);
SELECT array_join(sort_array(collect_list(concat_ws(' ', id, twice, coalesce(CAST(day AS STRING), 'null')))), ' | ')
  FROM lake.generated_columns.t;
