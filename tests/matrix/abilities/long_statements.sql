-- Statements with thousands of conditions
-- section: Long statements
-- expect: 500
CREATE NAMESPACE lake.long_statements;
CREATE TABLE lake.long_statements.t AS SELECT id FROM range(2500);
DECLARE OR REPLACE VARIABLE statement STRING;
SET VAR statement = (SELECT concat('DELETE FROM lake.long_statements.t WHERE NOT (',
  array_join(transform(sequence(0, 1999), i -> concat('id <> ', i)), ' AND '), ')'));
EXECUTE IMMEDIATE statement;
SELECT CAST(count(*) AS STRING) FROM lake.long_statements.t;
