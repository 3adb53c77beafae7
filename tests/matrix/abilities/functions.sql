-- Iceberg's transforms as functions
-- section: SELECT
-- expect: 3 ice 2024-03-01 sqlext
CREATE NAMESPACE lake.functions;
SELECT concat_ws(' ', lake.system.bucket(16, 34) % 4, lake.system.truncate(3, 'iceberg'),
  lake.system.days(DATE'2024-03-01'), lake.system.iceberg_version());
