"""A table whose metadata is gone, made anew from its data files.

Files do not say whether their rows are still live: those of deleted and replaced files return. So this is never done
unless it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.environment import Environment
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import NotFoundError, SqlextError
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.storage.file_io import FileIO, FileStatus
from sqlext.storage.location import is_below, join
from sqlext.write.existing_file import ExistingFile, TableShape, content_file
from sqlext.write.existing_schema import SchemaMismatch
from sqlext.write.metrics import MetricsConfig
from sqlext.write.parquet_file import SCHEMA_KEY

_PARQUET = ".parquet"
# In the footers of delete files that Iceberg's library writes, and in the names of those of sqlext.
_DELETE_TYPE, _DELETES = b"delete-type", "-deletes"
_FILE_PATH_ID = b"2147483546"
_FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The data files below a folder, the schema of the newest of them, and the files that are left out, by reason."""

    schema: Schema
    files: tuple[ContentFile, ...]
    left_out: tuple[str, ...]

    @property
    def rows(self) -> int:
        return sum(file.record_count for file in self.files)


def found_files(io: FileIO, location: str) -> FoundFiles:
    """The Parquet files below `location` that have rows of a table.

    Raises NotFoundError NO_TABLE_AT_LOCATION unless one of them has the table's schema in its footer, as files have
    that sqlext, or Iceberg's library, has written.
    """
    data: list[tuple[FileStatus, Schema | None]] = []
    left_out: list[str] = []
    for status in sorted(io.list(location), key=lambda one: (one.modified_ms, one.path)):
        if not status.path.endswith(_PARQUET) or _is_hidden(status.path, location):
            continue
        try:
            with io.open_input(status.path) as source, pq.ParquetFile(source) as file:
                keys, columns = file.schema_arrow.metadata or {}, file.schema_arrow
                keys = {**(file.metadata.metadata or {}), **keys}
                if _has_deletes(status.path, keys, columns):
                    left_out.append(f"{status.path} has deletes")
                else:
                    data.append((status, _schema(keys)))
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            left_out.append(f"{status.path} cannot be read: {error}")
    schemas = [schema for _, schema in data if schema is not None]
    if not schemas:
        reason = "no Parquet file in it has the schema of a table in its footer"
        raise NotFoundError("NO_TABLE_AT_LOCATION", location=location, reason=reason)
    schema = max(reversed(schemas), key=lambda one: one.schema_id)
    files = list(_matched(io, schema, [status for status, _ in data], left_out))
    return FoundFiles(schema, tuple(files), tuple(left_out))


def table_from_files(
    environment: Environment, catalog: Catalog, identifier: TableIdentifier, damaged: str | None, found: FoundFiles
) -> LoadedTable:
    """Makes an unpartitioned table of the files where the table was, whose metadata file `damaged` cannot be read, or
    which the catalog does not know any more. Raises as `commit` and `Catalog.replace_damaged`."""
    action = CreateTable(
        schema=found.schema,
        spec=UNPARTITIONED,
        sort_order=UNSORTED,
        properties={},
        format_version=_FORMAT_VERSION,
        location=table_location(catalog, identifier, damaged),
        initial=AppendFiles(found.files, owned=False),
    )
    to = catalog if damaged is None else cast(Catalog, _InPlaceOf(catalog, damaged))
    return commit(
        to, identifier, action, base=None, clock=environment.clock, rng=environment.rng, sleep=environment.sleep
    ).table


def table_location(catalog: Catalog, identifier: TableIdentifier, damaged: str | None) -> str:
    """The folder of a table, which has the damaged metadata file in its folder `metadata`."""
    if damaged is None:
        return catalog.default_table_location(identifier)
    return damaged.rpartition("/")[0].removesuffix("/metadata")


class _InPlaceOf:
    """`Catalog`, in which a table is made in the place of one whose current metadata file cannot be read."""

    def __init__(self, catalog: Catalog, damaged: str) -> None:
        self._catalog = catalog
        self._damaged = damaged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        return self._catalog.replace_damaged(identifier, self._damaged, updated)


def _matched(io: FileIO, schema: Schema, files: list[FileStatus], left_out: list[str]) -> Iterator[ContentFile]:
    shape = TableShape(schema, UNPARTITIONED, NameMapping.of_schema(schema), MetricsConfig.from_properties({}))
    for status in files:
        try:
            yield content_file(io, ExistingFile(status.path, status.size, "PARQUET", {}), shape)
        except (SchemaMismatch, SqlextError) as error:
            left_out.append(f"{status.path}: {error}")


def _schema(keys: dict[bytes, bytes]) -> Schema | None:
    text = keys.get(SCHEMA_KEY.encode("ascii"))
    return None if text is None else Schema.from_json(json.loads(text))


def _has_deletes(path: str, keys: dict[bytes, bytes], columns: pa.Schema) -> bool:
    ids = {(field.metadata or {}).get(FIELD_ID_KEY) for field in columns}
    return _DELETE_TYPE in keys or _FILE_PATH_ID in ids or _DELETES in path.rpartition("/")[2]


def _is_hidden(path: str, location: str) -> bool:
    """Whether it is in a folder of metadata, or in one whose name says that it holds no rows of the table."""
    if is_below(join(location, "metadata"), path):
        return True
    parts = path[len(location) :].strip("/").split("/")
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)
