-- PREVIEW: the rows that a statement would change
-- section: Transactions
-- expect: delete 2 b
CREATE NAMESPACE lake.preview;
CREATE TABLE lake.preview.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.preview.t VALUES (1, 'a'), (2, 'b');
PREVIEW UPDATE lake.preview.t SET v = 'c';
PREVIEW MERGE INTO lake.preview.t t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE;
PREVIEW INSERT INTO lake.preview.t SELECT CAST(id + 3 AS INT), 'd' FROM range(100);
PREVIEW DELETE FROM lake.preview.t WHERE id > 1;
