CREATE TABLE t (id INT, d DOUBLE, s STRING, m DECIMAL(9,2), day DATE, at TIMESTAMP, flag BOOLEAN)
PARTITIONED BY (months(day), bucket(4, id), truncate(2, s));

INSERT INTO t VALUES
  (1, 1.5, 'apple', 1.00, DATE'2024-01-15', TIMESTAMP'2024-01-15 10:00:00Z', true),
  (2, double('NaN'), 'apricot', -2.50, DATE'2024-02-15', TIMESTAMP'2024-02-15 10:00:00Z', false),
  (3, double('-Infinity'), 'banana', NULL, DATE'2024-03-15', NULL, NULL),
  (4, -0.0, '', 4.44, NULL, TIMESTAMP'1969-12-31 23:59:59.999999Z', true);

INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL), (5, 0.0, 'žluť', 99.99, DATE'1969-12-31', NULL, false);

SELECT id FROM t WHERE id = 3;

SELECT id FROM t WHERE id IN (1, 4, 77, NULL);

SELECT id FROM t WHERE id NOT IN (1, 4);

SELECT id FROM t WHERE id IS NULL;

SELECT id FROM t WHERE id <=> NULL;

SELECT id FROM t WHERE NOT (id > 2);

SELECT id FROM t WHERE d = double('NaN');

-- NaN is larger than anything
SELECT id FROM t WHERE d > 1;

SELECT id FROM t WHERE d = 0.0;

SELECT id FROM t WHERE s LIKE 'ap%';

SELECT id FROM t WHERE s LIKE '%an%';

SELECT id FROM t WHERE s NOT LIKE 'ap%';

SELECT id FROM t WHERE s = '' OR s > 'b';

SELECT id FROM t WHERE s = 'apricot' AND id = 2;

SELECT id FROM t WHERE m < 0 OR m >= 4.44;

SELECT id FROM t WHERE day >= DATE'2024-02-15';

SELECT id FROM t WHERE day < '1970-01-01';

SELECT id FROM t WHERE year(day) = 2024 AND month(day) = 1;

SELECT id FROM t WHERE at < TIMESTAMP'1970-01-01 00:00:00Z';

SELECT id FROM t WHERE flag;

SELECT id FROM t WHERE NOT flag;

SELECT id FROM t WHERE coalesce(flag, true) AND id > 2;

SELECT id FROM t WHERE false;

SELECT count(*) AS n FROM t;

SELECT max(day) AS latest, min(s) AS least FROM t WHERE id > 0;

SELECT id FROM t ORDER BY id DESC NULLS LAST LIMIT 2;

SELECT day, count(*) AS n FROM t GROUP BY day ORDER BY day NULLS FIRST;

SELECT ID, S FROM t WHERE Id = 1;

SELECT a.id FROM t AS a JOIN t AS b ON a.id = b.id + 1 WHERE b.s = 'apple';

SELECT nome FROM t;

-- null is a value to <=>: a file of nulls is not passed over
CREATE TABLE nulls (id INT, s STRING);

INSERT INTO nulls VALUES (1, NULL);

INSERT INTO nulls VALUES (2, 'x');

SELECT id FROM nulls WHERE NOT (s <=> 'x');

SELECT id FROM nulls WHERE s <=> 'x' OR s <=> NULL;
