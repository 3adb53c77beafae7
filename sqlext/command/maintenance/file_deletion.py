"""Deletion of many files."""

from __future__ import annotations

from collections.abc import Collection

from sqlext.errors import SqlextError
from sqlext.spark.session.work_progress import WorkProgress
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import in_threads

DELETING_THREADS = 8
"""Unless a procedure's `max_concurrent_deletes` says otherwise."""


def deleted(io: FileIO, paths: Collection[str], threads: int, progress: WorkProgress) -> frozenset[str]:
    """Deletes files in this number of threads, and tells how many; returns those that are gone. Others stay as orphan
    files."""

    def delete(path: str) -> str | None:
        try:
            io.delete(path)
        except (SqlextError, OSError):
            return None
        return path

    results = progress.counted("delete files", in_threads(delete, paths, threads), len(paths))
    return frozenset(path for path in results if path is not None)
