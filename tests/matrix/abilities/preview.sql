-- PREVIEW
-- section: Preview
-- expect: delete1 insert3 update_postimage2 update_preimage2
CREATE NAMESPACE lake.preview;
CREATE TABLE lake.preview.t (id INT, v STRING, PRIMARY KEY (id));
INSERT INTO lake.preview.t VALUES (1, 'a'), (2, 'b');
PREVIEW MERGE INTO lake.preview.t t USING (VALUES (1, 'x'), (2, 'y'), (3, 'z')) s (id, v) ON t.id = s.id
  WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
