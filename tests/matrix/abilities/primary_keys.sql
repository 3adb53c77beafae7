-- Primary keys, ENFORCED
-- section: CREATE TABLE
-- expect error: KEY_ALREADY_EXISTS
CREATE NAMESPACE lake.primary_keys;
CREATE TABLE lake.primary_keys.t (id INT, v STRING, PRIMARY KEY (id) ENFORCED);
INSERT INTO lake.primary_keys.t VALUES (1, 'a'), (2, 'b');
INSERT INTO lake.primary_keys.t SELECT 2, 'again';
