"""Values of single rows of a Parquet data file, by their positions.

Polars decodes of each page the values that are asked for and passes over the rest, where other readers decode pages
whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)
from sqlext.storage.location import to_local_path

_KIND = "data file"
_WORD = re.compile(r"\w+")
# What Polars and Arrow hold in the same way.
_TYPES = (
    BooleanType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    DateType,
    TimestampType,
    TimestamptzType,
    StringType,
    BinaryType,
)
# Physical types of Parquet; those of a fixed length and of 96 bits are read by some readers only.
_TESTED = frozenset({"BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE", "BYTE_ARRAY"})


def has_positioned_values(field: NestedField) -> bool:
    """Whether `values_at` gives the values of a top-level column. An older file has none for its default."""
    return isinstance(field.type, _TYPES) and field.initial_default is None


def values_at(location: str, positions: NDArray[np.uint64], fields: Sequence[NestedField]) -> list[pa.Array]:
    """For each field its values at the positions, in their order, in the type that the file has them in.

    The file is on this machine and has field ids. A field that it lacks is null. NotFoundError FILE_NOT_FOUND,
    CorruptionError CORRUPT_FILE.
    """
    wanted, places = np.unique(positions, return_inverse=True)
    path = Path(to_local_path(location))
    try:
        with pq.ParquetFile(path) as file:
            names = {id: field.name for id, field in fields_by_id(file.schema_arrow).items()}
            found = [names[field.id] for field in fields if field.id in names]
            columns = _at(path, file, wanted, found) if found else {}
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=location, kind=_KIND) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason=error) from error
    found_values = (columns[names[field.id]] if field.id in names else pa.nulls(len(wanted)) for field in fields)
    return in_places(found_values, places.reshape(-1))


def in_places(columns: Iterable[pa.Array], places: NDArray[np.intp]) -> list[pa.Array]:
    """Of each column the values at these places; the columns themselves where all stand in their places."""
    if np.array_equal(places, np.arange(len(places))):
        return [column.slice(0, len(places)) for column in columns]
    rows = pa.array(places)
    return [column.take(rows) for column in columns]


def _at(path: Path, file: pq.ParquetFile, positions: NDArray[np.uint64], names: Sequence[str]) -> dict[str, pa.Array]:
    """The columns by name, at the positions, which ascend."""
    # It is imported where it is used, as few sessions and workers need it and it takes a tenth of a second.
    import polars as pl
    from polars import selectors

    index = "_" + max(file.schema_arrow.names, key=len)
    rows = pl.scan_parquet(
        path,
        row_index_name=index,
        parallel="prefiltered",
        use_statistics=False,
        glob=False,
        hive_partitioning=False,
    )
    test = pl.col(index).is_in(pl.Series(positions, dtype=pl.get_index_type()).implode())
    tested = _quickest(file)
    if tested is not None:
        # True of every row. Without a column of the file in its test Polars decodes all values before it tests any.
        test &= pl.col(tested).is_null() | pl.col(tested).is_not_null()
    try:
        frame = rows.filter(test).select(selectors.by_name(*names)).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # What Polars does not read, Arrow may; else its error tells what is wrong.
        table = file.read(columns=list(names))
        return {name: table.column(name).combine_chunks().take(pa.array(positions)) for name in names}
    return {name: frame.get_column(name).to_arrow() for name in names}


def _quickest(file: pq.ParquetFile) -> str | None:
    """The top-level column with the least to decode; None for a file without one that any reader knows.

    Columns with other names than words are passed over: the file's path of a nested field is the name of a column with
    a dot, and Polars takes `*` and `^…$` for patterns.
    """
    if not file.num_row_groups:
        return None
    group = file.metadata.row_group(0)
    names = {name for name in file.schema_arrow.names if _WORD.fullmatch(name)}
    chunks = (group.column(place) for place in range(group.num_columns))
    sizes = {
        chunk.path_in_schema: chunk.total_compressed_size
        for chunk in chunks
        if chunk.path_in_schema in names and chunk.physical_type in _TESTED
    }
    return min(sizes, key=sizes.__getitem__, default=None)
