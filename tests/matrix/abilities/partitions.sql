-- Partitions by transforms
-- section: CREATE TABLE
-- expect: 3 2
CREATE NAMESPACE lake.partitions;
CREATE TABLE lake.partitions.t (id INT, at TIMESTAMP, v STRING) PARTITIONED BY (days(at), truncate(2, v));
INSERT INTO lake.partitions.t VALUES (1, TIMESTAMP'2024-01-01 10:00:00', 'abc'), (2, TIMESTAMP'2024-01-02 10:00:00', 'abd'),
  (3, TIMESTAMP'2024-01-02 11:00:00', 'x');
SELECT concat_ws(' ', (SELECT count(*) FROM lake.partitions.t.partitions),
  (SELECT count(*) FROM lake.partitions.t WHERE at >= TIMESTAMP'2024-01-02 00:00:00'));
