"""Rows that a task keeps on local disk, as Arrow IPC in one file.

The file has no name, so it disappears with its process, however that ends.
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
    """Offset and length of rows in the file; `held_bytes` is their size in memory. All are bytes."""

    offset: int
    length: int
    held_bytes: int


class SpillFile:
    """Stores rows and returns them, in any order; the file is created with the first.

    Raises OSError of the local disk. `close` may be called at any time; nothing may be read after it.
    """

    def __init__(self) -> None:
        self._file: BinaryIO | None = None

    def put(self, batches: Sequence[pa.RecordBatch], held_bytes: int) -> SpilledRows:
        """Writes batches of one schema, which take `held_bytes` in memory."""
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
        """The batches of a `put`."""
        assert self._file is not None
        self._file.seek(rows.offset)
        return list(pa.ipc.open_stream(pa.py_buffer(self._file.read(rows.length))))

    def close(self) -> None:
        """Frees the disk space."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
