-- Names with dots, beside fields of structs
-- section: Names of columns
-- expect: 1 7
CREATE NAMESPACE lake.names_with_dots;
CREATE TABLE lake.names_with_dots.t (`a.b` INT, a STRUCT<b: INT>, PRIMARY KEY (`a.b`));
INSERT INTO lake.names_with_dots.t VALUES (1, named_struct('b', 2));
UPDATE lake.names_with_dots.t SET a.b = 7 WHERE `a.b` = 1;
SELECT concat_ws(' ', `a.b`, a.b) FROM lake.names_with_dots.t;
