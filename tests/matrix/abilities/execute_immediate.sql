-- EXECUTE IMMEDIATE, with parameters
-- section: Parameters, EXECUTE IMMEDIATE and scripts
-- expect: 1a 2c
CREATE NAMESPACE lake.execute_immediate;
EXECUTE IMMEDIATE 'CREATE TABLE lake.execute_immediate.t (id INT, v STRING, PRIMARY KEY (id))';
EXECUTE IMMEDIATE 'INSERT INTO lake.execute_immediate.t VALUES (?, ?), (2, "b")' USING 1, 'a';
EXECUTE IMMEDIATE 'UPDATE lake.execute_immediate.t SET v = :v WHERE id = :id' USING 2 AS id, 'c' AS v;
SELECT array_join(sort_array(collect_list(concat(id, v))), ' ') FROM lake.execute_immediate.t;
