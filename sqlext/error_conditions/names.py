"""Conditions of names: properties, namespaces, tables, views, branches and tags."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.error_conditions.condition import Condition

NAMES: Mapping[str, Condition] = {
    # names and objects
    "INVALID_LOCATION": Condition(
        "42602", "The location {location} is refused: {reason}. Use an absolute path or a file:/// location."
    ),
    "INVALID_NAME": Condition(
        "42602", "The name {name} is refused: {reason}. Use letters, digits, '_', '-' or '.' inside a name."
    ),
    "INVALID_TABLE_PROPERTY": Condition(
        "42616",
        "The table property {name} = {value} is refused: {reason}. Set it right, or remove it to get {default}.",
    ),
    "UNKNOWN_TABLE_PROPERTY": Condition(
        "42616",
        "The table property {name} is refused: neither Iceberg nor sqlext has one of that name, so it would have no"
        " effect."
        " {way_out}",
    ),
    "TABLE_PROPERTY_REFUSED": Condition(
        "0A000", "The table property {name} = {value} is refused: {reason}. {way_out}."
    ),
    "RESERVED_TABLE_PROPERTY": Condition(
        "42616", "The table property {name} cannot be changed like this: {reason}. Use {way_out}."
    ),
    "SECRET_TABLE_PROPERTY": Condition(
        "42616",
        "The table property {name} is refused: it looks like a secret, and a table's metadata is plain text for"
        " everyone who reads the table. Give it to the catalog instead: spark.sql.catalog.<catalog>.{name}.",
    ),
    "PATH_OUTSIDE_WAREHOUSE": Condition(
        "42602",
        "The path {path} is refused: with its symbolic links resolved it lies outside the warehouse {warehouse}."
        " Use a name inside the warehouse.",
    ),
    "LOCATION_NOT_ALLOWED": Condition(
        "42602",
        "The location {location} is refused: with its symbolic links resolved it lies outside of {allowed}, and the"
        " catalog may use nothing else. Name its folder in the catalog's setting allowed-locations.",
    ),
    "SCHEMA_ALREADY_EXISTS": Condition(
        "42P06", "The namespace {name} already exists. Use IF NOT EXISTS, or another name."
    ),
    "SCHEMA_NOT_EMPTY": Condition(
        "2BP01", "The namespace {name} is not dropped: it holds {holds}. Drop that first, or use CASCADE."
    ),
    "SCHEMA_NOT_FOUND": Condition(
        "42704",
        "The namespace {name} cannot be found. Create it with CREATE NAMESPACE {name}, or check the spelling.",
    ),
    "TABLE_OR_VIEW_ALREADY_EXISTS": Condition(
        "42P07", "The table or view {name} already exists. Use IF NOT EXISTS, another name, or drop it first."
    ),
    "TABLE_OR_VIEW_NOT_FOUND": Condition(
        "42P01",
        "The table or view {name} cannot be found. Check the spelling and the current catalog and namespace.",
    ),
    # views
    "CREATE_PERMANENT_VIEW_WITHOUT_ALIAS": Condition(
        "0A000",
        "The view {name} is refused: its query gives the column {column} no name of its own. Write an alias with"
        " AS, or name the columns behind the view's name.",
    ),
    "CREATE_VIEW_COLUMN_ARITY_MISMATCH": Condition(
        "21S01",
        "The view {name} is refused: it names the columns {columns}, and its query has {count}. Name as many as"
        " the query has.",
    ),
    "EXPECT_PERMANENT_VIEW_NOT_TEMP": Condition(
        "42809",
        "{name} is a temporary view, which ALTER VIEW does not change here. Use CREATE OR REPLACE TEMPORARY VIEW,"
        " or the view's whole name.",
    ),
    "EXPECT_TABLE_NOT_TEMPORARY_VIEW": Condition(
        "42809",
        "{statement} is refused: {name} is a temporary view of the session, which has a query and no rows of its own."
        " Name a table; one that has the view's name too goes by its whole name, with catalog and namespace.",
    ),
    "EXPECT_TABLE_NOT_VIEW": Condition(
        "42809",
        "{name} is a view: it has a query, and no rows or history of its own. Name a table, or use DROP VIEW, ALTER"
        " VIEW or SELECT.",
    ),
    "EXPECT_VIEW_NOT_TABLE": Condition(
        "42809", "{name} is a table, not a view. Name a view, or use DROP TABLE or ALTER TABLE."
    ),
    "INVALID_TEMP_OBJ_REFERENCE": Condition(
        "42K0F",
        "The view {name} is refused: its query names {object}, which ends with this session. Use a permanent one,"
        " or write CREATE TEMPORARY VIEW.",
    ),
    "INVALID_VIEW": Condition("0A000", "The view {name} is refused: {reason}."),
    "RECURSIVE_VIEW": Condition(
        "42K0H", "The view {name} is refused: its query reads {name} itself. Write it over tables and other views."
    ),
    "UNSET_NONEXISTENT_PROPERTIES": Condition(
        "42K0J", "The property {property} of {name} cannot be removed: it is not set. Write UNSET … IF EXISTS."
    ),
    "VIEW_DIALECT_NOT_READ": Condition(
        "0A000",
        "The view {name} is not read: it has no query in Spark's SQL, only in {dialects}. Add one with ALTER VIEW …"
        " AS.",
    ),
    # branches and tags
    "CHERRY_PICK_REFUSED": Condition(
        "42809",
        "The snapshot {snapshot} of {name} is not picked: {reason}. SELECT * FROM {name}.snapshots shows where the"
        " table is.",
    ),
    "NOT_FAST_FORWARD": Condition(
        "42809",
        "{ref} of {name} is not moved to {to}: it has snapshots that {to} lacks, and they would be lost. Replace"
        " the branch, or start {to} anew from {ref}.",
    ),
    "SNAPSHOT_NOT_ANCESTOR": Condition(
        "42809",
        "{ref} of {name} is not rolled back to the snapshot {snapshot}: that is not among the snapshots behind its"
        " head. Use set_current_snapshot to go to any snapshot.",
    ),
    "MAIN_BRANCH_STAYS": Condition(
        "42809", "The branch main of {name} is not dropped: it is the table itself. DROP TABLE drops the table."
    ),
    "REFERENCE_ALREADY_EXISTS": Condition(
        "42710", "The {type} {ref} of {name} is there already. Use IF NOT EXISTS or OR REPLACE, or another name."
    ),
    "REFERENCE_NOT_FOUND": Condition(
        "42704", "The {type} {ref} of {name} cannot be found. SELECT * FROM {name}.refs lists what there is."
    ),
    "TABLE_HAS_NO_SNAPSHOT": Condition(
        "55000", "{what} of {name} needs a snapshot, and the table has none yet. Insert rows first."
    ),
    "WRONG_REFERENCE_TYPE": Condition(
        "42809", "{ref} of {name} is a {type}, not a {wanted}. Name a {wanted}, or say {type}."
    ),
    "INVALID_READ_OPTION": Condition("42616", "The read option {option} = {value} is refused. Give {wanted}."),
    "INVALID_WRITE_OPTION": Condition(
        "42616", "The write option {option} = {value} is refused: {reason}. Set it right, or leave it out."
    ),
    "EXPECT_TABLE_NOT_PART": Condition(
        "42809",
        "{name} is {part} of the table {table}, and the statement is about a whole table. Name {table}; a branch or tag"
        " of it is named by VERSION AS OF, or by BRANCH or TAG in ALTER TABLE.",
    ),
    "BRANCH_NOT_MERGED": Condition(
        "55000", "The branch {branch} of {name} is not merged into {into}: {reason}. Nothing was committed. {way_out}."
    ),
    "CLONE_NOT_POSSIBLE": Condition(
        "0A000",
        "The clone {name} of {source} is refused: {reason}. Copy the rows by CREATE TABLE … LIKE and INSERT, or use a"
        " branch of the table.",
    ),
    "TABLE_HAS_CLONES": Condition(
        "2BP01",
        "{name} cannot be {change}: a shallow clone reads its files, and its tag {tag} keeps them. Drop the clone"
        " first; if it is gone, ALTER TABLE … DROP TAG {tag}.",
    ),
    "PART_OF_A_TABLE": Condition("42809", "{name} cannot be dropped: it is {part} of the table {table}. {way_out}."),
    "PLACE_READ_ONLY": Condition(
        "42809",
        "{name} is a tag, a snapshot, a metadata table or the view ro, which can only be queried. Name the table"
        " or a branch of it.",
    ),
    "UNKNOWN_OPTION": Condition("42616", "The {kind} option {name} is refused: no option has that name. {way_out}"),
    "OPTION_NOT_SUPPORTED": Condition("0A000", "The {kind} option {name} is refused: {reason}. Leave it out."),
    "COLUMNS_CHANGED_SINCE": Condition(
        "42K0P",
        "The query is refused: since it was made, columns of {name} were renamed, dropped, made optional or given"
        " another type: {columns}. Make the query anew.",
    ),
    "PARTITION_STATISTICS_OF_NO_PARTITION": Condition(
        "0A000",
        "Partition statistics of {name} are not computed: no partition spec of it has a field. SELECT * FROM"
        " {name}.partitions tells its rows and files.",
    ),
    "STATISTICS_OF_COLUMN": Condition(
        "42703",
        "Statistics of the column {column} of {name} are not computed: {reason}. Name columns, or fields of structs,"
        " that have one value in a row.",
    ),
    "STATISTICS_OF_NO_COLUMN": Condition(
        "42703", "Statistics of {name} are not computed: none of its columns has values that are counted. Name a field."
    ),
    "TIME_TRAVEL_TWICE": Condition(
        "42601",
        "The read of {name} is refused: it names two versions of the table. Name one: by VERSION or TIMESTAMP AS OF, by"
        " the table's name, or by one read option.",
    ),
    "TWO_DESTINATIONS": Condition(
        "42601", "The write to {name} would go to two places: {one}, and {other}. Name one of them."
    ),
}
