"""Conditions of the table format's files, and of the stores that hold them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.error_conditions.condition import Condition

TABLE_FORMAT: Mapping[str, Condition] = {
    # table format
    "AMBIGUOUS_REFERENCE": Condition(
        "42704", "The column {name} is ambiguous: it may be {candidates}. Write its exact case."
    ),
    "INVALID_RETENTION": Condition(
        "42616",
        "The property {property} of {name} is refused: {reason}. Set it right, or remove it to keep all rows.",
    ),
    "INVALID_BUCKETS": Condition("42616", "The buckets of {name} are refused: {reason}. Use {way_out}."),
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
        "0A000", "The location {location} is refused: {reason}. Use an absolute path, a file:/// or an s3:// location."
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
    "ROWS_NEED_SPARK": Condition(
        "0A000",
        "Rows of {name} are not read without Spark: {reason}. Read them by SELECT in a session; sqlext sql starts one.",
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
        "58030", "{operation} of {path} failed: {reason}. Mend the store and run the statement again."
    ),
}
