"""The conditions of errors: one table row for each.

A message says what was refused, why, and the way out; the wording is free to change. Conditions that Spark itself has
keep Spark's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Condition:
    """SQLSTATE and message template of one error condition."""

    sqlstate: str
    template: str


CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
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
            "The table property {name} is refused: Iceberg and sqlext know none of that name, so it would do nothing."
            " Did you mean {nearest}?",
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
            "The view {name} has the columns {columns}, and its query gives {count}. Name as many as there are.",
        ),
        "EXPECT_PERMANENT_VIEW_NOT_TEMP": Condition(
            "42809",
            "{name} is a temporary view, which ALTER VIEW does not change here. Use CREATE OR REPLACE TEMPORARY VIEW,"
            " or the view's whole name.",
        ),
        "EXPECT_TABLE_NOT_VIEW": Condition(
            "42809",
            "{name} is a view: it has a query, and no rows or history of its own. Name a table, or use DROP VIEW, ALTER"
            " VIEW or SELECT.",
        ),
        "EXPECT_VIEW_NOT_TABLE": Condition(
            "42809", "{name} is a table and no view. Name a view, or use DROP TABLE or ALTER TABLE."
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
            "42K0J", "The property {property} of {name} cannot be removed: there is none. Write UNSET … IF EXISTS."
        ),
        "VIEW_DIALECT_NOT_READ": Condition(
            "0A000",
            "The view {name} is not read: it has no query in Spark's SQL, only in {dialects}. Add one with ALTER VIEW …"
            " AS.",
        ),
        # statements
        "CONSTRAINT_ALREADY_EXISTS": Condition(
            "42710", "The constraint {name} of {table} already exists. Use another name, or drop it first."
        ),
        "CONSTRAINT_DOES_NOT_EXIST": Condition(
            "42704",
            "The constraint {name} of {table} cannot be found. SHOW CREATE TABLE {table} lists what there is; the names"
            " of primary keys are not kept: ALTER TABLE {table} DROP PRIMARY KEY drops one.",
        ),
        "INVALID_CHECK_CONSTRAINT": Condition(
            "42621",
            "The CHECK {name} is refused: {reason}. Write a condition over the columns of one row.",
        ),
        "COLUMN_ALREADY_EXISTS": Condition(
            "42711", "The column {column} is named more than once. Name each column once."
        ),
        "AGGREGATE_IN_CHANGE": Condition(
            "42903",
            "A value or a condition has an aggregate function, but sees one row at a time. Put the function into a"
            " subquery, such as (SELECT max(a) FROM t).",
        ),
        "CONDITION_NOT_BOOLEAN": Condition(
            "42K09", "The condition of {clause}, {expression}, is of type {type}. It has to be true, false or null."
        ),
        "EXPRESSION_IN_CHANGE": Condition(
            "42903",
            "In the value or condition of {place} {expression} {what}, but is to see one row and give one value. Put it"
            " into a subquery, or into the source.",
        ),
        "COLUMN_IN_USE": Condition(
            "42000", "The column {name} cannot be changed so: {use} depends on it. Use {way_out}."
        ),
        "CONFLICTING_ASSIGNMENTS": Condition(
            "42701",
            "In {clause} both {field} and the whole of {above} are assigned. Assign the whole, or only parts of it.",
        ),
        "DUPLICATE_ASSIGNMENTS": Condition(
            "42701", "The columns {names} are assigned more than once in {clause}. Assign each column once."
        ),
        "DUPLICATE_CLAUSES": Condition(
            "42614", "The clause {clause} stands more than once in the statement. Remove one of them."
        ),
        "FIELD_ALREADY_EXISTS": Condition(
            "42710", "The column {name} exists already. Use another name, or drop the column of that name first."
        ),
        "FIELD_NOT_FOUND": Condition(
            "42704", "The struct {struct} has no field {field}. Assign one of its fields: {fields}."
        ),
        "INSERT_COLUMN_ARITY_MISMATCH": Condition(
            "21S01",
            "The rows do not fit into {name}: {reason}. Columns: {columns}; values: {values}. Give one value per"
            " column,"
            " or name the columns that the values are for.",
        ),
        "INVALID_PARTITION_TRANSFORM": Condition("42601", "The partitioning {transform} is refused: {reason}."),
        "INVALID_PRIMARY_KEY": Condition("42830", "The primary key is refused: {reason}."),
        "MERGE_WITHOUT_WHEN": Condition("42601", "The MERGE into {table} has no WHEN clause. Add at least one."),
        "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION": Condition(
            "42613",
            "A WHEN MATCHED clause that is not the last of its kind has no condition, so the later ones could never"
            " apply. Add AND <condition>, or move the clause behind the others.",
        ),
        "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION": Condition(
            "42613",
            "A WHEN NOT MATCHED BY SOURCE clause that is not the last of its kind has no condition, so the later ones"
            " could never apply. Add AND <condition>, or move the clause behind the others.",
        ),
        "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION": Condition(
            "42613",
            "A WHEN NOT MATCHED clause that is not the last of its kind has no condition, so the later ones could never"
            " apply. Add AND <condition>, or move the clause behind the others.",
        ),
        "NOT_SUPPORTED_CHANGE_COLUMN": Condition(
            "0A000",
            "The column {name} cannot go from {before} to {after}: {reason}. Add a column of the new type, and fill it"
            " with an UPDATE.",
        ),
        "PARSE_SYNTAX_ERROR": Condition(
            "42601", "Syntax error at {near} (line {line}, column {column}): expected {expected}."
        ),
        "RESERVED_COLUMN_NAME": Condition(
            "42939",
            "The column name {name} is refused: engines give every row a hidden column of that name, and the two could"
            " not be told apart. Use another name, or an alias in the query.",
        ),
        "SCHEMA_CHANGE_REFUSED": Condition("0A000", "The change of the column {name} is refused: {reason}."),
        "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST": Condition(
            "42713",
            "The column {name} has a static value in PARTITION and is in the column list too. Remove it from one.",
        ),
        "UNRESOLVED_COLUMN.WITH_SUGGESTION": Condition(
            "42703", "The column {name} cannot be resolved in {where}. Did you mean one of: {suggestions}?"
        ),
        "UNSUPPORTED_PROVIDER": Condition(
            "0A000",
            "The table {table} cannot be made USING {provider}: its catalog holds Iceberg tables only. Write USING"
            " iceberg, or leave USING out.",
        ),
        "UNSUPPORTED_SYNTAX": Condition(
            "0A000", "{feature} (line {line}, column {column}) is not supported: {reason}."
        ),
        "UNREADABLE_EXPRESSION": Condition(
            "0A000",
            "The column names in {expression} ({where}) cannot be told apart: {name} may be a column of the other"
            " table."
            " Qualify every column with its table's alias, or write the expression in simpler terms.",
        ),
        "UNSUPPORTED_NESTED_ASSIGNMENT": Condition(
            "0A000",
            "The assignment to {field} is refused: {reason}. Assign the whole column {column}.",
        ),
        "UNSUPPORTED_TRANSFORM": Condition(
            "0A000",
            "The transform {transform} of {column} has no SQL spelling. Read the table's metadata.json instead.",
        ),
        "UNSUPPORTED_TYPE": Condition("0A000", "The type {type} is not supported: {reason}."),
        # catalog interface
        "ALTER_TABLE_NOT_SUPPORTED": Condition(
            "0A000",
            "ALTER TABLE with {change} is refused: it is not among the changes that this version makes. Create a new"
            " table, or leave it out.",
        ),
        "CATALOG_FAILURE": Condition(
            "58000", "The database of the catalog {name} refused: {reason}. Nothing was committed."
        ),
        "CATALOG_LOGIN_FAILED": Condition(
            "28000",
            "The catalog {name} is not opened: {reason}. Check the user and the password, or the token, in the settings"
            " spark.sql.catalog.{name}.*.",
        ),
        "CATALOG_NO_ANSWER": Condition(
            "08007",
            "The catalog {name} gave no answer about {object}: {reason}. It may have done what was asked or not. Look,"
            " and run the statement again.",
        ),
        "CATALOG_NOT_FOUND": Condition(
            "42P08",
            "The catalog {name} cannot be found. Set spark.sql.catalog.{name} to io.sqlext.Catalog with a warehouse.",
        ),
        "CATALOG_OPTION_INVALID": Condition(
            "42616", "The catalog {name} has {option}={value}. Set spark.sql.catalog.{name}.{option} to {allowed}."
        ),
        "CATALOG_OPTION_REQUIRED": Condition(
            "42616", "The catalog {name} has no {option}. Set spark.sql.catalog.{name}.{option}."
        ),
        "CATALOG_UNREACHABLE": Condition(
            "08001",
            "The catalog {name} does not answer: {reason}. Nothing was committed; check its uri, and that it runs.",
        ),
        "LOCATION_IN_USE": Condition(
            "42710",
            "The location {location} is refused: a table lives there already, {other}, and two would delete each"
            " other's files. Leave the location out, or name another.",
        ),
        "DROPPED_TABLE_NOT_FOUND": Condition(
            "42P01",
            "No table {name} is kept to be brought back: none was dropped under this name, or with PURGE, or"
            " too long ago. CALL … system.dropped_tables(namespace) lists what there is.",
        ),
        "JAR_REQUIRED": Condition(
            "58000", "{feature} needs {jar}, which the JVM has not. Name it in spark.jars.packages, or in --packages."
        ),
        "PACKAGE_REQUIRED": Condition(
            "58000",
            "{feature} needs the Python package {package}, which is not there. Run pip install '{package}'.",
        ),
        "PATH_REQUIRED": Condition(
            "42000", "Reading format sqlext needs a path. Give .load(path) a table's folder or a metadata.json file."
        ),
        "RENAME_NOT_SUPPORTED": Condition(
            "0A000", "Renaming {name} is refused: a warehouse folder is the table's name. Use CREATE TABLE … AS SELECT."
        ),
        "SETTING_INVALID": Condition("42616", "The session has {name}={value}. Set it to {allowed}, or leave it out."),
        "SNAPSHOT_NOT_FOUND": Condition(
            "42704",
            "The snapshot {snapshot} of {name} cannot be found. SELECT * FROM {name}.snapshots lists what there is.",
        ),
        # session
        "INTERNAL_ERROR": Condition(
            "XX000", "sqlext met a fault of its own at {asked!r}: {reason}. Nothing was committed; please report it."
        ),
        "JAVA_NOT_FOUND": Condition(
            "58000", "No Java was found, which Spark needs. Install Java 17 or 21 and put it on PATH, or set JAVA_HOME."
        ),
        "OPERATION_CANCELED": Condition(
            "HY008", "The statement was cancelled. Nothing was committed and its files were removed; run it again."
        ),
        "SHIM_NOT_COMPILED": Condition(
            "58000", "The JVM shim does not compile against Spark {spark}: {reason}. Use a Spark from 4.0 to 4.3."
        ),
        "SHIM_NOT_LOADED": Condition(
            "55000",
            "The running JVM has no sqlext shim, since it was started without it. Build the session with"
            " sqlext.configure(SparkSession.builder).getOrCreate(), or start Spark with --jars $(python -m"
            " sqlext.spark.shim_jar).",
        ),
        # statements and types
        "UNSUPPORTED_DATA_TYPE": Condition(
            "0A000", "The data type {type} is refused: {reason}. Use a type of the table format."
        ),
        # table format
        "AMBIGUOUS_REFERENCE": Condition(
            "42704", "The column {name} is ambiguous: it may be {candidates}. Write its exact case."
        ),
        "FORMAT_VERSION_DOWNGRADE": Condition(
            "42616", "The format version of {name} cannot go from {current} to {version}: versions only rise. Leave it."
        ),
        "UNSUPPORTED_FORMAT_VERSION": Condition(
            "0A000",
            "Format version {version} of {name} is not supported: this version of sqlext knows 1 to {highest}. Use a"
            " newer"
            " sqlext, or a table of an earlier format version.",
        ),
        "TABLE_LOCATION_FIXED": Condition(
            "0A000",
            "Another location for {name} is refused: the table stays at {location}, where its history is."
            " Leave"
            " the location out, or drop the table first.",
        ),
        "UNSUPPORTED_CATALOG_OPERATION": Condition(
            "0A000", "{operation} is not supported by the catalog {catalog}: {reason}. {way_out}"
        ),
        "UNSUPPORTED_LOCATION": Condition(
            "0A000", "The location {location} is refused: {reason}. Use an absolute path or a file:/// location."
        ),
        # rows
        "FORMAT_VERSION_TOO_LOW": Condition(
            "0A000",
            "{feature} needs format version {needed}, and the table has {version}. Make it with, or take it to,"
            " 'format-version'='{needed}'.",
        ),
        "INVALID_DEFAULT_VALUE": Condition(
            "42623",
            "The default {value} of column {column} is refused: {reason}. Write a constant that the column holds.",
        ),
        "FORMAT_VERSION_1_ROW_LEVEL": Condition(
            "0A000",
            "{verb} on {name} is refused: a table of format version 1 has no delete files. Upgrade it with"
            " ALTER TABLE {name} SET TBLPROPERTIES ('format-version'='2').",
        ),
        "MERGE_CARDINALITY_VIOLATION": Condition(
            "23K01",
            "The MERGE into {name} would change a row more than once, for the keys {keys}. Keep one source row per key,"
            " for instance the latest.",
        ),
        "NOT_A_PARTITION_COLUMN": Condition(
            "42000",
            "The column {column} in PARTITION is no identity partition of {name}. Name partition columns, or overwrite"
            " with a condition: df.writeTo(…).overwrite(…).",
        ),
        "NOT_A_BRANCH": Condition(
            "42809",
            "{ref} of {name} is a tag, which stays at its snapshot. Name a branch, or make one:"
            " ALTER TABLE {name} CREATE BRANCH <name>.",
        ),
        "PATH_TABLE_READ_ONLY": Condition(
            "0A000", "The table {name} was opened by its path and can only be read. Write it through its catalog."
        ),
        "UPSERT_WITHOUT_KEY": Condition(
            "42000",
            "Upsert into {name} is refused: the table has no primary key by which a row could be replaced. Give it one"
            " with PRIMARY KEY or ALTER TABLE … ADD PRIMARY KEY, or set write.upsert.enabled to false.",
        ),
        "UPSERT_NESTED_KEY": Condition(
            "0A000",
            "Upsert into {name} is refused: its key column {column} is inside a struct. Use MERGE, or a key of whole"
            " columns.",
        ),
        "UPSERT_WITH_OVERWRITE": Condition(
            "42000",
            "Overwriting {name} is refused: an upsert replaces single rows by their key, and an overwrite what is"
            " there. Say 'upsert-enabled'='false' for this write, or leave OVERWRITE out.",
        ),
        "ON_CONFLICT_NOT_KEY": Condition(
            "42P10",
            "ON CONFLICT ({columns}) of {name} is refused: only the primary key ({key}) tells which rows conflict. Name"
            " its columns.",
        ),
        "ON_CONFLICT_SETS_KEY": Condition(
            "42000",
            "ON CONFLICT DO UPDATE of {name} is refused: it sets the key column {column}, by which the row was found."
            " Leave it out, or change keys with UPDATE.",
        ),
        "INVALID_SEQUENCE_FIELD": Condition(
            "42616",
            "The column {column} in write.upsert.sequence-field of {name} is refused: {reason}. Name columns of the"
            " table whose values have an order.",
        ),
        "SEQUENCE_TIE": Condition(
            "23505",
            "The rows for {table} hold keys whose last rows are equal in write.upsert.sequence-field: {keys}. No row of"
            " them can win; make the field tell them apart, or keep one row per key.",
        ),
        "INVALID_ROW_KIND": Condition(
            "22023",
            "The rows for {table} have a _row_kind that is none, {kinds}, in rows with the keys {keys}. Use '+I', '-U',"
            " '+U' or '-D'.",
        ),
        "ROW_KIND_IN_TABLE": Condition(
            "42000",
            "The rows for {name} are refused: they have a column _row_kind, which tells what a row does, and the table"
            " has one of that name too. Rename the table's column.",
        ),
        "UPSERT_PARTITION_NOT_IN_KEY": Condition(
            "42000",
            "Equality upsert into {name} is refused: column {column} of the partition field {field} is not part of the"
            " primary key, so a row could stay behind in its old partition. Set 'write.upsert.mode'='resolved'.",
        ),
        "CHECK_CONSTRAINT_VIOLATION": Condition(
            "23514",
            "A row for {table} breaks the constraint {name}, CHECK ({expression}): {values}. Nothing was written; leave"
            " such rows out, or mend them.",
        ),
        "EXCEED_LIMIT_LENGTH": Condition(
            "54006",
            "A value for the column {column} of {table} has more than {limit} characters: {values}. Cut it in the"
            " query.",
        ),
        "DUPLICATE_KEY": Condition(
            "23505",
            "The rows for {table} hold a key more than once: {keys}. Keep one row per key, for instance the latest.",
        ),
        "KEY_ALREADY_EXISTS": Condition(
            "23505",
            "The rows for {table} hold keys that it has already, and its primary key is ENFORCED: {keys}. Leave them"
            " out, or change the rows that are there with MERGE.",
        ),
        "INVALID_COLUMN_VALUE": Condition(
            "22018", "A value for the column {column} of {table} is no {type}: {reason}. Cast it in the query."
        ),
        "NULL_IN_REQUIRED_COLUMN": Condition(
            "23502",
            "The column {column} of {table} is required and a row has null there. Filter such rows, or fill them.",
        ),
        "PARTITION_VALUE_OUT_OF_RANGE": Condition(
            "22003",
            "A row belongs to the partition {field} = {value}, by {transform}, and {value} is no {type}. Leave the"
            " row out, widen the column, or partition by another transform.",
        ),
        "UNSUPPORTED_WRITE": Condition(
            "0A000",
            "The table cannot be written here: {feature} is not supported. Write it in an engine that knows it.",
        ),
        # branches and tags
        "CHERRY_PICK_REFUSED": Condition(
            "42809",
            "The snapshot {snapshot} of {name} is not picked: {reason}. SELECT * FROM {name}.snapshots shows where the"
            " table is.",
        ),
        "NOT_FAST_FORWARD": Condition(
            "42809",
            "{ref} of {name} is not moved to {to}: it has snapshots that {to} has not, and they would be lost. Replace"
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
            "42809", "{ref} of {name} is a {type} and no {wanted}. Name a {wanted}, or say {type}."
        ),
        "INVALID_READ_OPTION": Condition("42616", "The read option {option} = {value} is refused. Give {wanted}."),
        "PLACE_READ_ONLY": Condition(
            "42809",
            "{name} is a tag, a snapshot or a metadata table, which can only be read. Write to the table or to a branch"
            " of it.",
        ),
        "UNKNOWN_OPTION": Condition(
            "42616", "The {kind} option {name} is refused: there is none of that name. Did you mean {nearest}?"
        ),
        "OPTION_NOT_SUPPORTED": Condition("0A000", "The {kind} option {name} is refused: {reason}. Leave it out."),
        "TIME_TRAVEL_TWICE": Condition(
            "42601",
            "{name} is read at two places of its history at once. Name one: by VERSION or TIMESTAMP AS OF, by"
            " the table's name, or by one read option.",
        ),
        "TWO_DESTINATIONS": Condition(
            "42601", "The write to {name} would go to two places: {one}, and {other}. Unset one of them."
        ),
        # procedures
        "PROCEDURE_ARGUMENT": Condition("42601", "CALL {procedure} is refused: {reason}. It takes {parameters}."),
        "FILE_NOT_ADDED": Condition(
            "0A000",
            "The file {path} is not added to {name}: {reason}. No file was added. Insert its rows with INSERT INTO"
            " {name} SELECT …, or mend the file or the table.",
        ),
        "FILES_ALREADY_IN_TABLE": Condition(
            "42710",
            "{count} of the files are in {name} already, such as {path}, and their rows would count twice. Name others,"
            " or give check_duplicate_files => false.",
        ),
        "FILES_NOT_ADDED": Condition("0A000", "Files are not added to {name}: {reason}. {way_out}"),
        "INVALID_SOURCE_TABLE": Condition(
            "42601",
            "The source {source} is refused: {reason}. Name a folder, such as `parquet`.`/path`, or a table of"
            " spark_catalog.",
        ),
        "TABLE_OF_OTHER_CATALOG": Condition(
            "42601", "The table {name} is not one of the catalog {catalog}, whose procedure is called. Name its table."
        ),
        "PROCEDURE_NOT_FOUND": Condition(
            "42883", "There is no procedure {procedure}. Did you mean {near}? CALL {catalog}.system.{near}(…) runs it."
        ),
        # storage
        "CREATE_IF_ABSENT_UNSUPPORTED": Condition(
            "0A000",
            "The file {path} is not written: {reason}, so two writers could overwrite each other's commits. {way_out}",
        ),
        "CORRUPT_FILE": Condition(
            "XX001",
            "The file {path} cannot be read as {kind}: {reason}. Restore it from a backup or an earlier version.",
        ),
        "FILE_NOT_FOUND": Condition(
            "58030", "The file {path} ({kind}) does not exist. Restore it, or read an earlier snapshot of the table."
        ),
        "NO_TABLE_AT_LOCATION": Condition(
            "42P01",
            "There is no Iceberg table at {location}: {reason}. Give the folder of a table, or one of its"
            " .metadata.json files.",
        ),
        "STORAGE_ACCESS_DENIED": Condition(
            "42501",
            "The store refuses access to {path}: {reason}. Check the keys in the catalog's settings s3.access-key-id"
            " and s3.secret-access-key, or in the environment.",
        ),
        "STORAGE_FAILURE": Condition(
            "58030", "{operation} of {path} failed: {reason}. Nothing was committed; mend the store and run it again."
        ),
        # table features
        "UNSUPPORTED_TABLE_FEATURE": Condition(
            "0A000",
            "The table uses {feature}, which this version does not read. Read a snapshot that does without, or rewrite"
            " the table without it in an engine that knows it.",
        ),
        # changes
        "CHANGES_MODE_INVALID": Condition(
            "42616", "The mode {mode} of table_changes is refused: there is none of that name. Use 'each' or 'net'."
        ),
        "CHANGES_OF_NO_TABLE": Condition(
            "42809",
            "The changes of {name} are refused: a tag, a snapshot or a metadata table has none. Name the table, or a"
            " branch of it.",
        ),
        "CHANGES_NOT_BEHIND": Condition(
            "42000",
            "The changes of {name} from snapshot {start} to {end} are refused: the first is not behind the second."
            " Change the two, or use the mode 'net', which tells any two snapshots apart.",
        ),
        "CHANGES_EXPIRED": Condition(
            "42704",
            "The changes of {name} from snapshot {start} to {end} are refused: snapshots between them have expired. Use"
            " the mode 'net', or begin at a later snapshot.",
        ),
        # streams
        "UNKNOWN_STREAM_OPTION": Condition(
            "42616",
            "The option {name} of a streaming {kind} is refused: there is none of that name, but {known}.",
        ),
        "INVALID_STREAM_OPTION": Condition(
            "42616",
            "The option {name} = {value} of a streaming {kind} is refused: {reason}. Set it right, or leave it out.",
        ),
        "STREAM_KEY_NOT_THE_TABLES": Condition(
            "42000",
            "The option equality-field-columns = {named} is refused: the key of {name} is {key}. Leave the option out,"
            " or change the table's key with ALTER TABLE … ADD PRIMARY KEY.",
        ),
        "STREAM_OFFSET_UNREADABLE": Condition(
            "XX001",
            "The offset of the stream of {name} cannot be read: {reason}. Start the query with a new checkpoint.",
        ),
        "STREAM_OF_PLACE": Condition(
            "0A000",
            "A stream of {name} is refused: only a table of a catalog, or a branch of it, can be streamed.",
        ),
        "STREAM_SNAPSHOT_CHANGES_ROWS": Condition(
            "55000",
            "The stream of {name} ends at snapshot {snapshot}: its operation is {operation}, and it takes rows away"
            " that the stream has given. Read the table with the option row-kinds = true, or pass such snapshots over"
            " with {option} = true.",
        ),
        "STREAM_POSITION_GONE": Condition(
            "55000",
            "The stream of {name} cannot go on: it is at snapshot {start}, which has expired or been rolled back."
            " Start it again with a new checkpoint.",
        ),
        "STREAM_COLUMNS_CHANGED": Condition(
            "55000",
            "The stream of {name} stops: the table's columns were changed while it ran. Start it again, and it"
            " goes on with the new ones.",
        ),
        "STREAM_FENCED": Condition(
            "55000",
            "The streaming query {query} may write to {name} no more: another run of it, {run}, has written since this"
            " one began. Two runs share one checkpoint, or a copy of it. Stop one of them, and start the other again.",
        ),
        "STREAM_BATCH_DIFFERS": Condition(
            "55000",
            "Batch {batch} of the streaming query {query} is refused: {name} has its batches up to {last}, and this one"
            " was planned at another time, so it may have other rows. The checkpoint was put back, copied or used for"
            " something else. Go on with the checkpoint that wrote batch {last}, or start with a new one.",
        ),
        "STREAM_PROGRESS_MISSING": Condition(
            "55000",
            "Batch {batch} of the streaming query {query} is refused: {name} knows nothing of the query's earlier"
            " batches. The checkpoint is that of another table, or the table was made anew. Start with a new"
            " checkpoint, or set the option accept-checkpoint to true if the table is to have the rows from here on.",
        ),
        "STREAM_PROGRESS_UNREADABLE": Condition(
            "XX001",
            "What {name} knows of the streaming query {query} cannot be read: {reason}. It is the table property"
            " sqlext.stream.{query}. Put its value back, or remove it and start the query with a new checkpoint.",
        ),
        "STREAM_TABLE_REPLACED": Condition(
            "55000",
            "The streaming query {query} may write to {name} no more: the table was dropped and made anew since the"
            " query was started. Start it again, with a new checkpoint.",
        ),
        "STREAM_KEY_CHANGED": Condition(
            "55000",
            "The streaming query {query} stops: the primary key of {name} was changed while it ran. Start the query"
            " again, and it goes on with the new key.",
        ),
        # transactions
        "NOT_IN_TRANSACTION": Condition(
            "0A000",
            "{operation} is not supported within a transaction. Use it before BEGIN, or after COMMIT or ROLLBACK.",
        ),
        "NO_TRANSACTION": Condition(
            "25P01", "{statement} is refused: the session has no transaction. BEGIN opens one."
        ),
        "SAVEPOINT_NOT_FOUND": Condition(
            "3B001", "The transaction has no savepoint {savepoint}. SAVEPOINT {savepoint} sets one."
        ),
        "TRANSACTION_CONFLICT": Condition(
            "40001",
            "The transaction is rolled back, as another writer has changed {name} since it was read: {reason}. Run the"
            " transaction again.",
        ),
        "TRANSACTION_IN_PROGRESS": Condition(
            "25001", "BEGIN is refused: the session has a transaction already. COMMIT or ROLLBACK ends it."
        ),
        "TRANSACTION_SPANS_CATALOGS": Condition(
            "0A000",
            "A change in {second} is refused: the transaction has changed tables of {first}, and what two catalogs"
            " have cannot land at once. Use a transaction for each.",
        ),
        # commit
        "COMMIT_CONFLICT": Condition("40001", "The commit to {name} lost the race: {reason}. Run the statement again."),
        "CONCURRENT_CHANGE": Condition(
            "40001",
            "The commit to {name} is refused: {reason}, after this statement had read the table. Its result would be"
            " wrong now. Run the statement again.",
        ),
        "WRITE_CONFLICT": Condition(
            "40001",
            "The commit to {name} is refused: {who} changed {rows}, which this statement changes too. One of the two"
            " changes would be lost. Run the statement again.",
        ),
        "COMMIT_STATE_UNKNOWN": Condition(
            "08007",
            "Whether the commit to {name} happened is unknown: {reason}. No file was deleted; look for commit id"
            " {commit_id} in {name}.snapshots before you run it again.",
        ),
    }
)
