-- Spark's clause CHANGES
-- section: Changes
-- expect: 2update_postimage 2update_preimage 3insert
-- refused on 4.0, 4.1: PARSE_SYNTAX_ERROR: Spark has this clause from 4.2 on; table_changes gives the same
CREATE NAMESPACE lake.changes_clause;
CREATE TABLE lake.changes_clause.t (id INT, v STRING, PRIMARY KEY (id));
DECLARE OR REPLACE VARIABLE query STRING;
INSERT INTO lake.changes_clause.t VALUES (1, 'a'), (2, 'b');
UPSERT INTO lake.changes_clause.t VALUES (2, 'c'), (3, 'd');
SET VAR query = (SELECT concat('SELECT array_join(sort_array(collect_list(concat(id, _change_type))), " ")',
  ' FROM lake.changes_clause.t CHANGES FROM VERSION ', min_by(snapshot_id, committed_at),
  ' EXCLUSIVE WITH ("computeUpdates" = "true")') FROM lake.changes_clause.t.snapshots);
EXECUTE IMMEDIATE query;
