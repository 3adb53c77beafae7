"""Rows at positions of data files, as Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.manifests.row_origins import ORIGIN_COLUMNS

ReadFile = Callable[[FileScanTask, int], Iterator[pa.RecordBatch]]
"""Reads a file's rows in their order, with the number as their source, as `live_rows` does."""


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows of data files. `files` has the index of each row's file in `tasks`, `positions` its position there."""

    rows: pa.Table
    tasks: Sequence[FileScanTask]
    files: np.ndarray
    positions: np.ndarray


def rows_at(
    tasks: Mapping[str, FileScanTask], positions: Mapping[str, BitMap64], shape: pa.Schema, read: ReadFile
) -> PlacedRows:
    """The rows at `positions`, by path, deleted or not, in the order of `positions`. `shape` is that of the batches of
    `read`, origins included. Raises as `read`."""
    chosen = [tasks[path] for path in positions]
    batches: list[pa.RecordBatch] = []
    files: list[np.ndarray] = []
    places: list[np.ndarray] = []
    for number, task in enumerate(chosen):
        wanted = position_array(positions[task.file.file_path])
        whole = replace(task, position_deletes=None, deleted_rows=0, equality_groups=())
        for batch in read(whole, number):
            start = int(places_of(batch)[0])
            inside = wanted[np.searchsorted(wanted, start) : np.searchsorted(wanted, start + batch.num_rows)]
            if len(inside):
                batches.append(batch.take(pa.array(inside - start)))
                files.append(np.full(len(inside), number))
                places.append(inside)
    rows = pa.Table.from_batches(batches, shape)
    rows = rows.select(range(rows.num_columns - len(ORIGIN_COLUMNS)))
    return PlacedRows(rows, chosen, _joined(files), _joined(places))


def places_of(batch: pa.RecordBatch) -> np.ndarray:
    """The positions of the rows of a batch that has their origins."""
    places: np.ndarray = batch.column(batch.num_columns - 1).to_numpy()
    return places


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
