-- Views
-- section: Views
-- expect: 2 b
CREATE NAMESPACE lake.views;
CREATE TABLE lake.views.t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (id, v);
CREATE VIEW lake.views.v (number COMMENT 'the id', name) AS SELECT id, v FROM lake.views.t WHERE id > 0;
ALTER VIEW lake.views.v SET TBLPROPERTIES ('team'='a');
CREATE OR REPLACE VIEW lake.views.v (number, name) AS SELECT id, v FROM lake.views.t WHERE id > 1;
SELECT concat_ws(' ', number, name) FROM lake.views.v;
