"""Pages, dictionaries and statistics of a Parquet file's column chunks, by Iceberg's properties `write.parquet.*`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow.parquet as pq

from sqlext.properties import (
    DICTIONARY_COLUMN_PREFIX,
    PARQUET_DICTIONARY_BYTES,
    PARQUET_PAGE_BYTES,
    PARQUET_PAGE_ROWS,
    PARQUET_PAGE_VERSION,
    STATISTICS_COLUMN_PREFIX,
    column_flags,
)
from sqlext.spec.schema import Schema
from sqlext.write.parquet_column import ParquetColumn, parquet_columns

_LOG = logging.getLogger(__name__)

_VERSIONS = {"v1": "1.0", "v2": "2.0"}
# PyArrow's own number.
_MOST_AT_ONCE = 1024
_ROWS_CAN_BE_LIMITED = "max_rows_per_page" in inspect.signature(pq.ParquetWriter.__init__).parameters


@dataclass(frozen=True, slots=True)
class ColumnChunks:
    """What a table's properties say of the chunks of its files, sizes in bytes before compression.

    `dictionaries` has the columns for which the properties say whether they have a dictionary, `statistics` those for
    which they say whether they have statistics, by their dotted names.
    """

    page_bytes: int = PARQUET_PAGE_BYTES.default
    page_rows: int = PARQUET_PAGE_ROWS.default
    page_version: str = PARQUET_PAGE_VERSION.default
    dictionary_bytes: int = PARQUET_DICTIONARY_BYTES.default
    dictionaries: tuple[tuple[str, bool], ...] = ()
    statistics: tuple[tuple[str, bool], ...] = ()

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ColumnChunks:
        """Raises AnalysisError INVALID_TABLE_PROPERTY for a value that does not parse."""
        return cls(
            PARQUET_PAGE_BYTES.of(properties),
            PARQUET_PAGE_ROWS.of(properties),
            PARQUET_PAGE_VERSION.of(properties),
            PARQUET_DICTIONARY_BYTES.of(properties),
            tuple(column_flags(properties, DICTIONARY_COLUMN_PREFIX).items()),
            tuple(column_flags(properties, STATISTICS_COLUMN_PREFIX).items()),
        )

    def warn_of_those_not_written(self, schema: Schema) -> None:
        """Logs a warning for each column that files of the schema will not have, and for rows that are not counted."""
        known = {schema.column_name(column.field_id) for column in parquet_columns(schema)}
        for prefix, said in (
            (DICTIONARY_COLUMN_PREFIX, self.dictionaries),
            (STATISTICS_COLUMN_PREFIX, self.statistics),
        ):
            for name in (name for name, _ in said if name not in known):
                _LOG.warning("%s%s has no effect: the table has no such column with values of its own", prefix, name)
        if self.page_rows != PARQUET_PAGE_ROWS.default and not _ROWS_CAN_BE_LIMITED:
            _LOG.warning("%s has no effect: this version of PyArrow cannot", PARQUET_PAGE_ROWS.name)

    def without_columns(self) -> ColumnChunks:
        """The sizes of pages and dictionaries alone, for position-delete files, which have no column of the table."""
        return replace(self, dictionaries=(), statistics=())

    def of_files(self, schema: Schema, columns: Sequence[ParquetColumn]) -> FileChunks:
        """The chunks of files with these columns."""
        dictionaries, statistics = dict(self.dictionaries), dict(self.statistics)
        names = {column.path: schema.column_name(column.field_id) for column in columns}
        return FileChunks(
            self,
            {path: dictionaries[name] for path, name in names.items() if name in dictionaries},
            frozenset(path for path, name in names.items() if not statistics.get(name, True)),
            tuple(names),
        )


@dataclass(frozen=True, slots=True)
class FileChunks:
    """The chunks of a file's columns, by their `paths`: which must have a dictionary, or must not, where the properties
    say so, and which are `unmeasured`, without statistics."""

    sizes: ColumnChunks
    dictionaries: Mapping[str, bool]
    unmeasured: frozenset[str]
    paths: tuple[str, ...]

    def writer_options(self, rows: int, size: int) -> Mapping[str, object]:
        """The options of PyArrow's writer, for row groups of so many rows, which take `size` bytes in memory.

        A file whose columns have one page each has no column and offset indexes (spec of Parquet: Page Index): they
        would tell what its footer tells.
        """
        sizes = self.sizes
        fitting = sizes.page_bytes * rows // size if size else _MOST_AT_ONCE
        limited = {"max_rows_per_page": sizes.page_rows} if _ROWS_CAN_BE_LIMITED else {}
        return {
            "data_page_size": sizes.page_bytes,
            "data_page_version": _VERSIONS[sizes.page_version],
            "dictionary_pagesize_limit": sizes.dictionary_bytes,
            "write_page_index": rows > sizes.page_rows or size > sizes.page_bytes,
            # The writer looks at the size of a page after each batch.
            "write_batch_size": max(1, min(_MOST_AT_ONCE, fitting)),
            "write_statistics": not self.unmeasured
            or [one for one in self.paths if one not in self.unmeasured]
            or False,
            **limited,
        }
