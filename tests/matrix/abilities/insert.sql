-- INSERT of values and queries, by position and by name
-- section: INSERT
-- expect: 1a 2b 3c 4d
CREATE NAMESPACE lake.insert;
CREATE TABLE lake.insert.t (id INT, v STRING, part INT) PARTITIONED BY (part);
INSERT INTO lake.insert.t VALUES (1, 'a', 0);
INSERT INTO lake.insert.t (v, id) VALUES ('b', 2);
INSERT INTO lake.insert.t BY NAME SELECT 'c' AS v, 3 AS id, 1 AS part;
INSERT INTO lake.insert.t PARTITION (part = 2) SELECT 4, 'd';
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.insert.t;
