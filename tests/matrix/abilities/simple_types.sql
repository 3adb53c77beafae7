-- Numbers, text, bytes, dates, timestamps, UUIDs
-- section: Types
-- expect: 1 2 3 1.5 2.5 12.34 text 00ff 2024-02-29 2024-01-01 12:00:00 2024-01-01 13:00:00.123 f79c3e09-677c-4bbd-a479-3f349cb785e7
CREATE NAMESPACE lake.simple_types;
CREATE TABLE lake.simple_types.t (b BOOLEAN, i INT, l BIGINT, s SMALLINT, f FLOAT, d DOUBLE, n DECIMAL(9, 2), v STRING,
  x BINARY, day DATE, at TIMESTAMP, local TIMESTAMP(3), u UUID);
INSERT INTO lake.simple_types.t VALUES (true, 1, 2, 3, 1.5, 2.5, 12.34, 'text', X'00FF', DATE'2024-02-29',
  TIMESTAMP'2024-01-01 12:00:00', TIMESTAMP_NTZ'2024-01-01 13:00:00.123', 'F79C3E09-677C-4BBD-A479-3F349CB785E7');
SELECT concat_ws(' ', i, l, s, f, d, n, v, lower(hex(x)), day, at, local, u) FROM lake.simple_types.t WHERE b;
