"""Rows that wait on local disk for their turn, as Arrow IPC in one file that nobody else can see.

The file has no name, so it is gone with its process, however that ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

import pyarrow as pa

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class SpilledRows:
    """Where rows are in their file; `held_bytes` is what they took in memory."""

    offset: int
    length: int
    held_bytes: int


class SpillFile:
    """Takes rows and gives them back, in any order. It makes its file when the first ones come.

    Errors: OSError from the local disk. After `close`, which may be called at any time, it is of no more use.
    """

    def __init__(self) -> None:
        self._file: BinaryIO | None = None

    def put(self, batches: Sequence[pa.RecordBatch], held_bytes: int) -> SpilledRows:
        """Writes batches of one schema."""
        if self._file is None:
            self._file = cast("BinaryIO", tempfile.TemporaryFile(prefix="sqlext-spill-"))  # noqa: SIM115
        packed = pa.BufferOutputStream()
        with pa.ipc.new_stream(packed, batches[0].schema, options=_OPTIONS) as stream:
            for batch in batches:
                stream.write_batch(batch)
        data = packed.getvalue()
        offset = self._file.seek(0, 2)
        self._file.write(data)
        return SpilledRows(offset, data.size, held_bytes)

    def take(self, rows: SpilledRows) -> list[pa.RecordBatch]:
        """The batches that were put there."""
        assert self._file is not None
        self._file.seek(rows.offset)
        return list(pa.ipc.open_stream(pa.py_buffer(self._file.read(rows.length))))

    def close(self) -> None:
        """Gives the disk space back."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
