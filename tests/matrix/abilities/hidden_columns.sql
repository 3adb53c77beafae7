-- Hidden columns, and ids that rows keep
-- section: Names of columns
-- expect: 2b 1 kept
CREATE NAMESPACE lake.hidden_columns;
CREATE TABLE lake.hidden_columns.t (id INT, v STRING) TBLPROPERTIES ('format-version'='3');
INSERT INTO lake.hidden_columns.t VALUES (1, 'x'), (2, 'a');
DELETE FROM lake.hidden_columns.t WHERE id = 1;
UPDATE lake.hidden_columns.t SET v = 'b' WHERE id = 2;
SELECT concat_ws(' ', concat(id, v), _row_id, if(_last_updated_sequence_number = 3 AND NOT _deleted, 'kept', 'lost'))
  FROM lake.hidden_columns.t WHERE _file IS NOT NULL AND NOT _deleted;
