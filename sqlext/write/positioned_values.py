"""Values of single rows of a Parquet data file, by their positions.

Polars decodes of each page the values that are asked for and passes over the rest, where other readers decode pages
whole.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def has_positioned_values(field: NestedField) -> bool:
    """Whether `values_at` gives the values of a top-level column. An older file has none for its default."""
    return isinstance(field.type, _TYPES) and field.initial_default is None


def values_at(location: str, positions: NDArray[np.uint64], fields: Sequence[NestedField]) -> list[pa.Array]:
    """For each field its values at the positions, in their order, in the type that the file has them in.

    The file is on this machine and has field ids. A field that it lacks is null. NotFoundError FILE_NOT_FOUND,
    CorruptionError CORRUPT_FILE.
    """
    path = to_local_path(location)
    wanted, places = np.unique(positions, return_inverse=True)
    try:
        names = {id: field.name for id, field in fields_by_id(pq.read_schema(path)).items()}
        found = [names[field.id] for field in fields if field.id in names]
        columns = _at(path, wanted, found) if found else {}
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=location, kind=_KIND) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason=error) from error
    rows = pa.array(places.reshape(-1))
    return [columns[names[field.id]].take(rows) if field.id in names else pa.nulls(len(rows)) for field in fields]


def _at(path: str, positions: NDArray[np.uint64], names: Sequence[str]) -> dict[str, pa.Array]:
    # It is imported where it is used, as few sessions and workers need it and it takes a tenth of a second.
    import polars as pl
    from polars import selectors

    index = "_" + max(names, key=len)
    rows = pl.scan_parquet(
        Path(path),
        row_index_name=index,
        parallel="prefiltered",
        use_statistics=False,
        glob=False,
        hive_partitioning=False,
    )
    chosen = pl.Series(positions, dtype=pl.get_index_type()).implode()
    try:
        frame = rows.filter(pl.col(index).is_in(chosen)).select(selectors.by_name(*names)).collect()
    except pl.exceptions.PolarsError:
        # What Polars does not read, Arrow may; else its error tells what is wrong.
        table = pq.read_table(path, columns=list(names), partitioning=None)
        return {name: table.column(name).combine_chunks().take(pa.array(positions)) for name in names}
    return {name: frame.get_column(name).to_arrow() for name in names}
