"""Conditions of rows that are written, and of row-level changes."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.error_conditions.condition import Condition

ROWS: Mapping[str, Condition] = {
    # rows
    "FORMAT_VERSION_TOO_LOW": Condition(
        "0A000",
        "{feature} needs format version {needed}, and the table has {version}. Create it with, or upgrade it to,"
        " 'format-version'='{needed}'.",
    ),
    "INVALID_DEFAULT_VALUE": Condition(
        "42623",
        "The default {value} of column {column} is refused: {reason}. Write a constant of the column's type.",
    ),
    "FORMAT_VERSION_1_ROW_LEVEL": Condition(
        "0A000",
        "{verb} on {name} is refused: a table of format version 1 has no delete files. Upgrade it with"
        " ALTER TABLE {name} SET TBLPROPERTIES ('format-version'='2').",
    ),
    "MERGE_CARDINALITY_VIOLATION": Condition(
        "23K01",
        "The MERGE into {name} is refused: several source rows match one target row, for the keys {keys}. Keep one"
        " source row per key, for instance the latest.",
    ),
    "NOT_A_PARTITION_COLUMN": Condition(
        "42000",
        "The column {column} in PARTITION is not an identity partition of {name}; these are: {columns}. Name one of"
        " them, give the column's value in the query, or overwrite with a condition: df.writeTo(…).overwrite(…).",
    ),
    "PARTITION_VALUE_NOT_CONSTANT": Condition(
        "42601",
        "The value {value} for the column {column} in PARTITION is refused: it is not a constant. Leave the column out"
        " of PARTITION, and give its values in the query.",
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
        " with PRIMARY KEY or ALTER TABLE … ADD PRIMARY KEY, or {otherwise}.",
    ),
    "LOOKUP_WITHOUT_KEY": Condition(
        "42000",
        "A look-up in {name} is refused: the table has no primary key by which a row could be found. Give it one with"
        " ALTER TABLE … ADD PRIMARY KEY, or select its rows with WHERE.",
    ),
    "LOOKUP_KEY_REFUSED": Condition(
        "22018", "The key {key} for a look-up in {name} is refused: {reason}. Convert it, or leave it out."
    ),
    "MERGE_RETURNS_COUNTS": Condition(
        "0A000",
        "RETURNING in the clauses of sqlext.merge is refused: it returns counts. Run the statement MERGE by spark.sql"
        " for rows, or write a column of that name in backticks.",
    ),
    "INVALID_EQUALITY_COLUMNS": Condition(
        "42000",
        "The equality-field-columns {columns} of a write to {name} are refused: {reason}. {way_out}.",
    ),
    "UPSERT_NESTED_KEY": Condition(
        "0A000",
        "Upsert into {name} is refused: its key column {column} is inside a struct. Use MERGE, or a key of whole"
        " columns.",
    ),
    "UPSERT_WITH_OVERWRITE": Condition(
        "42000",
        "Overwriting {name} is refused: the write is also an upsert, which replaces single rows by their keys."
        " {way_out}.",
    ),
    "UPSERT_CONTRADICTED": Condition(
        "42000",
        "The write option {option} = {value} is refused: {by_key} says itself what is done with a row whose key exists."
        " {way_out}.",
    ),
    "ON_CONFLICT_NOT_KEY": Condition(
        "42P10",
        "ON CONFLICT ({columns}) of {name} is refused: rows conflict by the primary key ({key}) only. Name"
        " its columns.",
    ),
    "ON_CONFLICT_SETS_KEY": Condition(
        "42000",
        "ON CONFLICT DO UPDATE of {name} is refused: it sets the key column {column}, by which the row was found."
        " Leave it out, or change keys with UPDATE.",
    ),
    "INVALID_SEQUENCE_FIELD": Condition(
        "42616",
        "The column {column} cannot order the rows of {name}: {reason}. Name columns of the table whose"
        " values have an order.",
    ),
    "SEQUENCE_TIE": Condition(
        "23505",
        "The rows for {table} are refused: several last rows of a key are equal in sequence.field, for the keys {keys}."
        " Make the field differ between them, or keep one row per key.",
    ),
    "INVALID_MERGE_ENGINE": Condition(
        "42616",
        "The merge engine {engine} of {name} is refused: {reason}. Change the table's properties, or its columns.",
    ),
    "INVALID_CHANGELOG_PRODUCER": Condition(
        "42616",
        "The changelog-producer {producer} of {name} is refused: {reason}. Change the table's properties, or set it to"
        " none, which computes changes when they are read.",
    ),
    "RETRACTION_REFUSED": Condition(
        "22023",
        "The rows for {table} hold deletes (-D or -U) of the keys {keys}, and its merge engine cannot retract a row."
        " Leave them out, or set ignore-delete, fields.<column>.ignore-retract or, to delete whole rows,"
        " <engine>.remove-record-on-delete of the table to true.",
    ),
    "MERGE_ENGINE_BYPASSED": Condition(
        "42000",
        "An append to {name} is refused: its merge engine {engine} keeps one row for a key, and appended rows would"
        " not be merged. Leave 'upsert-enabled'='false' out, or use MERGE.",
    ),
    "INVALID_ROW_KIND": Condition(
        "22023",
        "The rows for {table} have invalid row kinds, {kinds}, in rows with the keys {keys}. Use '+I', '-U',"
        " '+U' or '-D'.",
    ),
    "ROW_KIND_TWICE": Condition(
        "42000",
        "The rows for {name} are refused: they have a column _row_kind, and the table has the kinds in its column"
        " {column} (rowkind.field). Leave _row_kind out.",
    ),
    "INVALID_ROWKIND_FIELD": Condition(
        "42616",
        "The column {column} cannot hold the row kinds of {name} (rowkind.field): {reason}. Name a text column of"
        " the table that is not in its key.",
    ),
    "ROW_KINDS_BYPASSED": Condition(
        "42000",
        "The write to {name} is refused: by the column {column} (rowkind.field) a row may delete another, and this"
        " write would store all rows as they are. {way_out}.",
    ),
    "ROW_KIND_IN_TABLE": Condition(
        "42000",
        "The rows for {name} are refused: they have a column _row_kind for row kinds, and the table has one of"
        " that name too. Rename the table's column.",
    ),
    "UPSERT_PARTITION_NOT_IN_KEY": Condition(
        "42000",
        "Equality upsert into {name} is refused: column {column} of the partition field {field} is not part of the"
        " key of the upsert, so a row could stay behind in its old partition. Set 'write.upsert.mode'='resolved'.",
    ),
    "CHECK_CONSTRAINT_VIOLATION": Condition(
        "23514",
        "A row for {table} breaks the constraint {name}, CHECK ({expression}): {values}. Nothing was written; leave"
        " such rows out, or mend them.",
    ),
    "GENERATED_COLUMN_VIOLATION": Condition(
        "428C9",
        "A row for {table} has another value in {column} than {expression} gives: {values}. Nothing was written. Leave"
        " the column out, or give null: the value is computed.",
    ),
    "IDENTITY_VALUE_GIVEN": Condition(
        "428C9",
        "A row for {table} has a value for {column}, which is GENERATED ALWAYS AS IDENTITY: {values}. Nothing was"
        " written. Leave the column out, or give null or DEFAULT: the value is generated.",
    ),
    "IDENTITY_EXHAUSTED": Condition(
        "2200H",
        "The identity column {column} of {table} has no value left for a row: the next one is beyond a BIGINT. Create"
        " a new table whose column begins or counts otherwise, and insert the rows.",
    ),
    "EXCEED_LIMIT_LENGTH": Condition(
        "54006",
        "A value for the column {column} of {table} has more than {limit} characters: {values}. Cut it in the query.",
    ),
    "DUPLICATE_KEY": Condition(
        "23505",
        "The rows for {table} hold a key more than once: {keys}. Keep one row per key, for instance the latest;"
        " for upserts the property write.upsert.sequence-field does so.",
    ),
    "KEY_ALREADY_EXISTS": Condition(
        "23505",
        "The rows for {table} have keys that exist already, and its primary key is ENFORCED: {keys}. Leave them"
        " out, or change the existing rows with MERGE.",
    ),
    "INVALID_COLUMN_VALUE": Condition(
        "22018", "A value for the column {column} of {table} is not of type {type}: {reason}. Cast it in the query."
    ),
    "NULL_IN_REQUIRED_COLUMN": Condition(
        "23502",
        "The column {column} of {table} is required and a row has null there. Filter such rows, or fill them.",
    ),
    "PARTITION_VALUE_OUT_OF_RANGE": Condition(
        "22003",
        "A row belongs to the partition {field} = {value}, by {transform}, and {value} is not of type {type}. Leave"
        " the row out, widen the column, or partition by another transform.",
    ),
    "UNSUPPORTED_WRITE": Condition(
        "0A000",
        "The table cannot be written here: {feature} is not supported. Write it in an engine that knows it.",
    ),
    # changes
    "CHANGES_ARGUMENTS": Condition(
        "42605",
        "table_changes is refused: {reason}. It takes constants by position: the table's name and, if wanted, from,"
        " to and the mode; null for one that is left out.",
    ),
    "CHANGES_MODE_INVALID": Condition(
        "42616", "The mode {mode} of table_changes is refused: no mode has that name. Use 'each' or 'net'."
    ),
    "CHANGES_OF_NO_TABLE": Condition(
        "42809",
        "The changes of {name} are refused: a tag, a snapshot, a metadata table or the view ro has none. Name the"
        " table, or a branch of it.",
    ),
    "CHANGES_NOT_BEHIND": Condition(
        "42000",
        "The changes of {name} from snapshot {start} to {end} are refused: the first is not an ancestor of the"
        " second. Swap the two, or use the mode 'net', which compares any two snapshots.",
    ),
    "CHANGES_EXPIRED": Condition(
        "42704",
        "The changes of {name} from snapshot {start} to {end} are refused: snapshots between them have expired. Use"
        " the mode 'net', or begin at a later snapshot.",
    ),
    "UNDO_NOT_POSSIBLE": Condition(
        "55000", "Snapshot {snapshot} of {name} is not undone: {reason}. Nothing was committed."
    ),
    "UNDO_ROWS_CHANGED": Condition(
        "55000",
        "Snapshot {snapshot} of {name} is not undone: later commits have changed rows that it wrote, or keys that it"
        " removed, such as {rows}. Nothing was committed. Undo those commits first, the newest first, or change the"
        " rows by DML; table_changes('{name}', {snapshot}) tells of the later commits.",
    ),
    "PREVIEW_OF_OTHER_COLUMNS": Condition(
        "0A000",
        "The preview is refused: {name} would have other columns after the statement than it had before, and a preview"
        " has one set of columns. Nothing was committed. Add the columns with ALTER TABLE, or run the statement between"
        " BEGIN and ROLLBACK and read table_changes there; PREVIEW SUMMARY tells its numbers.",
    ),
    "RETURNING_REFUSED": Condition("0A000", "{feature} is refused: {reason}."),
    "RETURNING_TOO_LONG": Condition(
        "54000",
        "The change of {name} is refused: RETURNING would give more than {most} rows, which the driver holds. Nothing"
        " was committed. SET sqlext.plan.preview-rows allows more rows; without RETURNING, table_changes gives the"
        " changed rows as a query.",
    ),
    "RETURNING_OTHER_COLUMNS": Condition(
        "0A000",
        "The change of {name} is refused: its RETURNING would have other columns after the statement than before, as it"
        " adds columns to the table. Nothing was committed. Add the columns with ALTER TABLE first, or name in"
        " RETURNING those that are there.",
    ),
    "RETURNING_NOT_PAIRED": Condition(
        "0A000",
        "The change of {name} is refused: its RETURNING needs to know which old row became which new one, and {reason}."
        " Nothing was committed. {way_out}.",
    ),
    "PREVIEW_TOO_LONG": Condition(
        "54000",
        "The preview of the change of {name} is refused: it has more than {most} rows. Nothing was committed. PREVIEW"
        " SUMMARY tells its numbers; SET sqlext.plan.preview-rows allows more rows.",
    ),
}
