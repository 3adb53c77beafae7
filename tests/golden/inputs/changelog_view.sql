-- inserts and deletes of each snapshot; rows that a rewrite of files has moved are none
CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id));

CALL lake.system.create_changelog_view('t');

SELECT * FROM t_changes;

INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');

UPSERT INTO t VALUES (2, 'B'), (4, 'd');

DELETE FROM t WHERE id = 1;

INSERT INTO t VALUES (1, 'a');

CALL lake.system.compact(table => 't', full => true);

-- it is of the snapshots that there were
SELECT * FROM t_changes;

CALL lake.system.create_changelog_view('t');

SELECT id, v, _change_type, _change_ordinal FROM t_changes ORDER BY ALL;

-- with the images of updates, by the primary key or by other columns
CALL lake.system.create_changelog_view(table => 't', compute_updates => true, changelog_view => 'updates');

SELECT id, v, _change_type, _change_ordinal FROM updates ORDER BY ALL;

CALL lake.system.create_changelog_view(table => 't', identifier_columns => array('ID', 'v'), changelog_view => '`by both`');

SELECT id, v, _change_type, _change_ordinal FROM `by both` ORDER BY ALL;

-- what is left of all changes
CALL sqlext.system.create_changelog_view(table => 't', net_changes => true, changelog_view => 'net');

SELECT id, v, _change_type, _change_ordinal FROM net ORDER BY ALL;

-- between two snapshots, which may also be told by their times
CALL lake.system.create_changelog_view('t', 'between', map('start-snapshot-id', '${snapshot:t:1}', 'end-snapshot-id', '${snapshot:t:3}'));

SELECT id, v, _change_type, _change_ordinal FROM between ORDER BY ALL;

CALL lake.system.create_changelog_view('t', 'between', map('start-timestamp', '99999999999999'));

SELECT id, v, _change_type, _change_ordinal FROM between ORDER BY ALL;

-- from a stored changelog
CREATE TABLE stored (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup');

UPSERT INTO stored VALUES (1, 'a'), (2, 'b');

UPSERT INTO stored VALUES (1, 'A'), (2, 'b');

CALL lake.system.create_changelog_view('stored');

SELECT id, v, _change_type, _change_ordinal FROM stored_changes ORDER BY ALL;

CALL lake.system.create_changelog_view(table => 'stored', compute_updates => true);

SELECT id, v, _change_type, _change_ordinal FROM stored_changes ORDER BY ALL;

-- what is refused
CALL lake.system.create_changelog_view('nothing');

CALL lake.system.create_changelog_view('changelog_view.t.snapshots');

CALL lake.system.create_changelog_view(table => 't', net_changes => true, compute_updates => true);

CALL lake.system.create_changelog_view(table => 't', identifier_columns => array());

CALL lake.system.create_changelog_view(table => 't', identifier_columns => array('w'));

CALL lake.system.create_changelog_view(table => 't', changelog_view => 'a.b');

CALL lake.system.create_changelog_view(table => 't', changelog_view => '1 2');

CALL lake.system.create_changelog_view(table => 't', options => map('split-size', '1'));

CALL lake.system.create_changelog_view(table => 't', options => map('start-snapshot-id', 'first'));

CALL lake.system.create_changelog_view(table => 't', options => map('start-snapshot-id', '1'));

CALL lake.system.create_changelog_view(table => 't', options => map('start-snapshot-id', '1', 'start-timestamp', '1'));

CALL lake.system.create_changelog_view(table => 't', options => map('start-timestamp', '2', 'end-timestamp', '1'));

-- maps are equal whatever the order of their entries
CREATE TABLE maps (id INT, m MAP<STRING, INT>) TBLPROPERTIES ('write.update.mode'='copy-on-write');

INSERT INTO maps VALUES (1, map('a', 1, 'b', 2)), (2, map('a', 1)), (3, NULL);

UPDATE maps SET m = CASE WHEN id = 1 THEN map('b', 2, 'a', 1) ELSE map('a', 3) END WHERE id < 3;

UPDATE maps SET m = map('a', 1) WHERE id = 2;

CALL lake.system.create_changelog_view('maps');

SELECT id, m, _change_type, _change_ordinal FROM maps_changes ORDER BY _change_ordinal, id, _change_type;

CALL lake.system.create_changelog_view(table => 'maps', net_changes => true);

SELECT id, m, _change_type, _change_ordinal FROM maps_changes ORDER BY id;

CALL lake.system.create_changelog_view(table => 'maps', identifier_columns => array('m'));

SELECT id, m, _change_type, _change_ordinal FROM maps_changes ORDER BY _change_ordinal, id, _change_type;
