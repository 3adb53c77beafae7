-- SQL scripts
-- section: Parameters, EXECUTE IMMEDIATE and scripts
-- expect: 0 2
-- refused on 4.0, 4.1, 4.2 in spark-sql: PARSE_SYNTAX_ERROR: the console splits a script at its semicolons
CREATE NAMESPACE lake.scripts;
SET spark.sql.scripting.enabled = true;
CREATE TABLE lake.scripts.t (id INT);
BEGIN DECLARE i INT = 0; WHILE i < 3 DO INSERT INTO lake.scripts.t SELECT i; SET i = i + 1; END WHILE;
  DELETE FROM lake.scripts.t WHERE id = 1; END;
SELECT array_join(sort_array(collect_list(id)), ' ') FROM lake.scripts.t;
