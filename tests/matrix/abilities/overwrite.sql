-- INSERT OVERWRITE, INSERT … REPLACE WHERE
-- section: INSERT
-- expect: 2b 3c 4d
CREATE NAMESPACE lake.overwrite;
CREATE TABLE lake.overwrite.t (id INT, v STRING, part INT) PARTITIONED BY (part);
INSERT INTO lake.overwrite.t VALUES (1, 'a', 0), (2, 'b', 1), (3, 'x', 2);
INSERT OVERWRITE lake.overwrite.t PARTITION (part = 2) SELECT 3, 'c';
INSERT INTO lake.overwrite.t REPLACE WHERE part = 0 SELECT 4, 'd', 0;
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.overwrite.t;
