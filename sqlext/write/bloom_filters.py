"""Bloom filters of a Parquet file's columns, by Iceberg's properties `write.parquet.bloom-filter-*`.

Without a number of distinct values a filter is sized for the rows of the file's first row group, within `max-bytes`.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq

from sqlext.errors import AnalysisError
from sqlext.properties import (
    BLOOM_FILTER_COLUMN_PREFIX,
    BLOOM_FILTER_FPP_PREFIX,
    BLOOM_FILTER_MAX_BYTES,
    BLOOM_FILTER_NDV_PREFIX,
    column_flags,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import BooleanType, DoubleType, FloatType, VariantType
from sqlext.write.parquet_column import ParquetColumn, parquet_columns

_LOG = logging.getLogger(__name__)

# Iceberg's default.
_FPP = 0.01
# 0.0 and -0.0 are equal in a query and not in a filter, so that rows would be missed; booleans have two values.
_WITHOUT = (BooleanType, FloatType, DoubleType, VariantType)
# Bits that Parquet's split block filter sets for a value.
_HASHES = 8
_CAN_BE_WRITTEN = "bloom_filter_options" in inspect.signature(pq.ParquetWriter.__init__).parameters


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """The filter of the column `name`: its rate of false positives and, if stated, the number of distinct values."""

    name: str
    fpp: float = _FPP
    distinct_values: int | None = None


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """The filters that a table's properties ask for."""

    filters: tuple[BloomFilter, ...] = ()
    max_bytes: int = BLOOM_FILTER_MAX_BYTES.default

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> BloomFilters:
        """Raises AnalysisError INVALID_TABLE_PROPERTY for a value that does not parse."""
        fpp = {name: _share(key, text) for name, key, text in _of_columns(properties, BLOOM_FILTER_FPP_PREFIX)}
        distinct = {name: _count(key, text) for name, key, text in _of_columns(properties, BLOOM_FILTER_NDV_PREFIX)}
        return cls(
            tuple(
                BloomFilter(name, fpp.get(name, _FPP), distinct.get(name))
                for name, flag in column_flags(properties, BLOOM_FILTER_COLUMN_PREFIX).items()
                if flag
            ),
            BLOOM_FILTER_MAX_BYTES.of(properties),
        )

    def warn_of_those_not_written(self, schema: Schema) -> None:
        """Logs a warning for each filter that files of the schema will not have."""
        names = {one.name for one in self._columns(schema, parquet_columns(schema)).values()}
        for one in self.filters:
            if not _CAN_BE_WRITTEN:
                _LOG.warning("no Bloom filter of %s is written: this version of PyArrow cannot", one.name)
            elif one.name not in names:
                _LOG.warning(
                    "no Bloom filter of %s is written: there is no such column, or it is of a type that gets none"
                    " (BOOLEAN, FLOAT, DOUBLE, VARIANT, and STRUCT, ARRAY and MAP as a whole)",
                    one.name,
                )

    def of_files(self, schema: Schema, columns: Sequence[ParquetColumn]) -> Mapping[str, BloomFilter]:
        """The filters of files with these columns, by the column's path."""
        return self._columns(schema, columns) if _CAN_BE_WRITTEN else {}

    def _columns(self, schema: Schema, columns: Sequence[ParquetColumn]) -> Mapping[str, BloomFilter]:
        named = {one.name: one for one in self.filters}
        able = [column for column in columns if not isinstance(column.type, _WITHOUT)] if named else []
        found = {column.path: named.get(schema.column_name(column.field_id)) for column in able}
        return {path: one for path, one in found.items() if one is not None}


def writer_options(filters: Mapping[str, BloomFilter], max_bytes: int, rows: int) -> Mapping[str, Mapping[str, object]]:
    """The option `bloom_filter_options` of PyArrow's writer, for row groups of `rows` rows."""
    return {
        path: {"fpp": one.fpp, "ndv": max(1, min(one.distinct_values or rows, _most_values(one.fpp, max_bytes)))}
        for path, one in filters.items()
    }


def _most_values(fpp: float, max_bytes: int) -> int:
    """The most distinct values of a filter whose size, a power of two, is at most `max_bytes`."""
    bits = 8 * 2 ** int(math.log2(max(32, max_bytes)))
    return int(bits * -math.log1p(-(fpp ** (1 / _HASHES))) / _HASHES)


def _of_columns(properties: Mapping[str, str], prefix: str) -> Sequence[tuple[str, str, str]]:
    return [(key.removeprefix(prefix), key, text) for key, text in properties.items() if key.startswith(prefix)]


def _share(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise _refused(name, text, "it must be a number between 0 and 1", _FPP)
    return value


def _count(name: str, text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit() or int(text) == 0:
        raise _refused(name, text, "it must be a whole number of at least 1", "the number of rows")
    return int(text)


def _refused(name: str, value: str, reason: str, default: object) -> AnalysisError:
    return AnalysisError("INVALID_TABLE_PROPERTY", name=name, value=value, reason=reason, default=default)
