-- Files of other tables added, and snapshots of them
-- section: Foreign data
-- expect: 5 3
CREATE NAMESPACE lake.foreign_data;
CREATE TABLE spark_catalog.default.foreign_data USING parquet AS SELECT id FROM range(3);
CREATE TABLE lake.foreign_data.t (id BIGINT);
INSERT INTO lake.foreign_data.t VALUES (10), (11);
CALL lake.system.add_files(table => 'foreign_data.t', source_table => 'spark_catalog.default.foreign_data');
CALL lake.system.snapshot(source_table => 'spark_catalog.default.foreign_data', table => 'foreign_data.copy');
SELECT concat_ws(' ', (SELECT count(*) FROM lake.foreign_data.t), (SELECT count(*) FROM lake.foreign_data.copy));
