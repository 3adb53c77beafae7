-- all that names files is written anew, elsewhere; the table stays as it is
CREATE TABLE t (id INT, region STRING) PARTITIONED BY (region) TBLPROPERTIES ('format-version'='3');

INSERT INTO t VALUES (1, 'us'), (2, 'eu'), (3, 'eu');

DELETE FROM t WHERE id = 2;

CALL lake.system.rewrite_table_path('t', '${folder}/t', 's3://bucket/t');

CALL sqlext.system.rewrite_table_path(table => 't', source_prefix => '${folder}/', target_prefix => 's3a://bucket', create_file_list => false);

-- only what came after a version, and up to one
INSERT INTO t VALUES (4, 'uk');

CALL lake.system.rewrite_table_path(table => 't', source_prefix => '${folder}/t', target_prefix => '/b', start_version => 'v3.metadata.json');

CALL lake.system.rewrite_table_path(table => 't', source_prefix => '${folder}/t', target_prefix => '/b', end_version => 'v2.metadata.json');

SELECT * FROM t ORDER BY id;

-- what is refused
CALL lake.system.rewrite_table_path('nothing', '/a', '/b');

CALL lake.system.rewrite_table_path('t', '/a');

CALL lake.system.rewrite_table_path('t', '', '/b');

CALL lake.system.rewrite_table_path('t', '/a', '/a/');

CALL lake.system.rewrite_table_path('t', '/nowhere', '/b');

CALL lake.system.rewrite_table_path('t', '${folder}/t/metadata', '/b');

CALL lake.system.rewrite_table_path(table => 't', source_prefix => '${folder}/t', target_prefix => '/b', start_version => 'v99.metadata.json');

CALL lake.system.rewrite_table_path(table => 't', source_prefix => '${folder}/t', target_prefix => '/b', start_version => 'v3.metadata.json', end_version => 'v2.metadata.json');

BEGIN;

CALL lake.system.rewrite_table_path('t', '${folder}/t', '/b');

ROLLBACK;
