-- CHECK constraints
-- section: CREATE TABLE
-- expect error: CHECK_CONSTRAINT_VIOLATION
CREATE NAMESPACE lake.checks;
CREATE TABLE lake.checks.t (id INT, paid DECIMAL(9, 2) CHECK (paid >= 0));
INSERT INTO lake.checks.t VALUES (1, 0), (2, NULL);
INSERT INTO lake.checks.t SELECT 3, -1;
