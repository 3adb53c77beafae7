-- RETURNING of the rows that a MERGE changed
-- section: Transactions
-- expect: UPDATE 1 a x
CREATE NAMESPACE lake.returning;
CREATE TABLE lake.returning.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.returning.t VALUES (1, 'a'), (2, 'b') RETURNING id, upper(v);
DELETE FROM lake.returning.t WHERE id = 2 RETURNING *;
MERGE INTO lake.returning.t t USING (VALUES (1, 'x')) s (id, v) ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *
  RETURNING merge_action(), id, OLD.v, NEW.v;
