"""Deletion of many files."""

from __future__ import annotations

from collections.abc import Collection

from sqlext.errors import SqlextError
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import in_threads

DELETING_THREADS = 8
"""Unless a procedure's `max_concurrent_deletes` says otherwise."""


def deleted(io: FileIO, paths: Collection[str], threads: int) -> frozenset[str]:
    """Deletes files in this number of threads; returns those that are gone. Others stay as orphan files."""

    def delete(path: str) -> str | None:
        try:
            io.delete(path)
        except (SqlextError, OSError):
            return None
        return path

    return frozenset(path for path in in_threads(delete, paths, threads) if path is not None)
