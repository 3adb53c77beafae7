"""The operation codes of a lowered SELECT's rows, and the positions in data files that the rows name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from sqlext.spec.manifests.position_set import position_set
from sqlext.write.commit_message import TaskMessage, matched_message, positions_message, repeated_message

# A source row matches the target row, which is not changed.
MATCH = 0
DELETE = 1
UPDATE = 2
INSERT = 3

# `__operation`, `_file` and `_pos` precede the table's columns.
OPERATION_COLUMNS = 3


class RowPositions:
    """Positions, by data file, of rows that are `deleted` or else only matched. Those added twice are kept apart too:
    several source rows match such a row."""

    def __init__(self, *, deleted: bool) -> None:
        self._message = positions_message if deleted else matched_message
        self._positions: dict[str, BitMap64] = {}
        self._repeated: dict[str, BitMap64] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes rows whose `_file` and `_pos` are not null."""
        if batch.num_rows == 0:
            return
        files = batch.column(1).dictionary_encode()
        codes = files.indices.to_numpy(zero_copy_only=False)
        positions = batch.column(2).to_numpy(zero_copy_only=False)
        order = np.lexsort((positions, codes))
        edges = np.flatnonzero(np.diff(codes[order])) + 1
        for rows in np.split(order, edges):
            self._add_sorted(files.dictionary[int(codes[rows[0]])].as_py(), positions[rows])

    def messages(self) -> Iterator[TaskMessage]:
        """A `positions` or `matched` message for each file, and a `repeated` one if positions were added twice."""
        for path, positions in self._positions.items():
            yield self._message(path, positions)
        for path, positions in self._repeated.items():
            yield repeated_message(path, positions)

    def _add_sorted(self, path: str, positions: Any) -> None:
        new = position_set(positions)
        known = self._positions.setdefault(path, BitMap64())
        twice = known & new
        if len(new) < len(positions):
            twice |= position_set(positions[1:][positions[1:] == positions[:-1]])
        if twice:
            self._repeated.setdefault(path, BitMap64()).update(twice)
        known.update(new)
