-- VARIANT
-- section: Types
-- expect: 2
-- refused on 4.0: NOT_READ_BY_SPARK_4_0: its Parquet reader fails on any file that has a variant; writing one works
CREATE NAMESPACE lake.variants;
CREATE TABLE lake.variants.t (id INT, v VARIANT) TBLPROPERTIES ('format-version'='3');
INSERT INTO lake.variants.t SELECT 1, parse_json('{"a": [1, 2]}');
SELECT variant_get(v, '$.a[1]', 'string') FROM lake.variants.t;
