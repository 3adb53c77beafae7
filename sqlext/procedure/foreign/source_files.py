"""The `source_table` of add_files and snapshot: a folder of files, or a table of Spark's session catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.session_table import SessionTable, session_table
from sqlext.spec.partition_folder import folder_values
from sqlext.sql.statements.table_resolution import SPARK_CATALOG
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.sql.tokens.token_cursor import TokenCursor
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import as_location
from sqlext.write.existing.existing_file import FORMATS, ExistingFile


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a source, and the folder `location`; `relation` is the name of a table in Spark's SQL, else None.

    `catalog_columns` are the partition columns by Spark's catalog; None for a folder.
    """

    text: str
    relation: str | None
    location: str
    files: tuple[ExistingFile, ...]
    catalog_columns: tuple[str, ...] | None = None

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The source's partition columns. Raises as `folder_columns`."""
        return self.folder_columns if self.catalog_columns is None else self.catalog_columns

    @property
    def folder_columns(self) -> tuple[str, ...]:
        """The partition columns in the files' paths. Raises AnalysisError if they differ between files."""
        if not self.files:
            return ()
        first = self.files[0]
        for file in self.files:
            if file.folder.keys() != first.folder.keys():
                raise _refused(self.text, f"the folders of {first.location} and {file.location} name different columns")
        return tuple(first.folder)


def source_files(spark: SparkSession, io: FileIO, text: str) -> Source:
    """The source that `text` names, with its files in the order of their paths.

    Raises AnalysisError INVALID_SOURCE_TABLE, also for a view or a table of another format, and NotFoundError.
    """
    parts = TokenCursor(text).dotted_name("a source table")
    if len(parts) == 2 and parts[0].upper() in FORMATS:
        location = _location(parts[1])
        files = _below(io, location, parts[0].upper())
        if not files:
            raise _refused(text, "there is no data file in it")
        return Source(text, None, location, tuple(files))
    name = parts[1:] if parts[0] == SPARK_CATALOG else parts
    if not 1 <= len(name) <= 2:
        raise _refused(text, "it is not a table of spark_catalog")
    table = _session_table(spark, text, name)
    relation = ".".join(quote_identifier(part) for part in (SPARK_CATALOG, *table.name))
    found = tuple(_of_table(io, table))
    return Source(text, relation, _location(table.location), found, table.partition_columns)


def folder_files(io: FileIO, location: str) -> Source:
    """The data files of a folder that is to become a table, by file extension; files in `metadata` are not counted.

    Raises AnalysisError INVALID_SOURCE_TABLE unless there are files, all of one format.
    """
    inside = f"{location}/metadata/"
    paths = [file.location for file in _below(io, location, "") if not file.location.startswith(inside)]
    formats = {path.rpartition(".")[2].upper() for path in paths}
    if len(formats) != 1 or not formats <= FORMATS:
        found = " and ".join(sorted(f".{ending.lower()}" for ending in formats)) or "none"
        raise _refused(location, f"its files should all end in .parquet, .orc or .avro, and there are {found}")
    (file_format,) = formats
    files = [file for file in _below(io, location, file_format) if not file.location.startswith(inside)]
    return Source(location, None, location, tuple(files))


def _session_table(spark: SparkSession, text: str, name: tuple[str, ...]) -> SessionTable:
    try:
        table = session_table(spark, name)
    except AnalysisException as error:
        if error.getCondition() not in ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"):
            raise
        raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=text) from None
    if table.kind == "VIEW":
        raise _refused(text, "it is a view")
    if table.provider.upper() not in FORMATS:
        raise _refused(text, f"its files are of {table.provider or 'no known format'}, not Parquet, ORC or Avro")
    return table


def _of_table(io: FileIO, table: SessionTable) -> Iterator[ExistingFile]:
    file_format = table.provider.upper()
    if table.partitions is None:
        yield from _below(io, _location(table.location), file_format)
        return
    for location, values in sorted(table.partitions):
        told = {column: _told(values[column]) for column in table.partition_columns}
        for file in _below(io, _location(location), file_format):
            yield ExistingFile(file.location, file.size, file_format, told)


def _told(text: str | None) -> str | None:
    return None if text == "__HIVE_DEFAULT_PARTITION__" else text


def _below(io: FileIO, location: str, file_format: str) -> list[ExistingFile]:
    """The files of a folder, or the one file; as in Spark, without those in a path that begins with `.` or `_`."""
    if io.exists(location):
        return [ExistingFile(location, io.size(location), file_format, {})]
    start = len(as_location(location)) + 1
    listed = ((status.path[start:], status) for status in io.list(location))
    found = [
        ExistingFile(status.path, status.size, file_format, folder_values(relative))
        for relative, status in listed
        if not any(_is_hidden(part) for part in relative.split("/"))
    ]
    return sorted(found, key=lambda file: file.location)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _location(text: str) -> str:
    return as_location(text.rstrip("/") or "/")


def _refused(source: str, reason: str) -> AnalysisError:
    return AnalysisError("INVALID_SOURCE_TABLE", source=source, reason=reason)
