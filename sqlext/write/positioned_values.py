"""Values of single rows of a Parquet data file, by their positions.

Polars decodes only the values of a page that are asked for; other readers decode whole pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.manifests.position_set import Positions
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

if TYPE_CHECKING:
    import polars as pl

_KIND = "data file"
_WORD = re.compile(r"\w+")
# Types that Polars and Arrow represent alike.
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
# Parquet's physical types, without FIXED_LEN_BYTE_ARRAY and INT96, which not all readers read.
_TESTED = frozenset({"BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE", "BYTE_ARRAY"})


def has_positioned_values(field: NestedField) -> bool:
    """Whether `values_at` can read a top-level column: not one with an initial default, which older files lack."""
    return isinstance(field.type, _TYPES) and field.initial_default is None


def values_at(location: str, positions: Positions, fields: Sequence[NestedField]) -> list[pa.Array]:
    """The values of each field at the positions, in their order and in the file's type; null if the file lacks it.

    The file is local and has field ids. Raises NotFoundError FILE_NOT_FOUND, CorruptionError CORRUPT_FILE.
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
    """Each column's values at these indices, without a copy if they count up from 0."""
    if np.array_equal(places, np.arange(len(places))):
        return [column.slice(0, len(places)) for column in columns]
    rows = pa.array(places)
    return [column.take(rows) for column in columns]


def _at(path: Path, file: pq.ParquetFile, positions: Positions, names: Sequence[str]) -> dict[str, pa.Array]:
    """The values of the columns at the positions, which ascend, by column name."""
    # Imported here, as few sessions and workers need it and the import takes a tenth of a second.
    import polars as pl
    from polars import selectors

    try:
        frame = _rows_at(path, file, positions).select(selectors.by_name(*names)).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        # Arrow may read a file that Polars does not; else its error says what is wrong.
        table = file.read(columns=list(names))
        return {name: table.column(name).combine_chunks().take(pa.array(positions)) for name in names}
    return {name: frame.get_column(name).to_arrow() for name in names}


def _rows_at(path: Path, file: pq.ParquetFile, positions: Positions) -> pl.LazyFrame:
    """The rows at the positions, which ascend."""
    import polars as pl

    if len(positions) == 1:
        # A predicate reads a column of all row groups, which takes two to three times as long.
        rows = pl.scan_parquet(path, use_statistics=False, glob=False, hive_partitioning=False)
        return rows.slice(int(positions[0]), 1)
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
        # True of every row. Unless its filter names a column of the file Polars decodes all values before it filters.
        test &= pl.col(tested).is_null() | pl.col(tested).is_not_null()
    return rows.filter(test)


def _quickest(file: pq.ParquetFile) -> str | None:
    """The top-level column of the fewest bytes; None for a file without one that every reader reads.

    Columns whose names are not words are left out: a name with a dot may be the path of a nested field, and Polars
    takes `*` and `^…$` for patterns.
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
