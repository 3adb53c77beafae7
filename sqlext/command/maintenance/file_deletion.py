"""Deletion of many files."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.errors import SqlextError
from sqlext.spark.session.work_progress import WorkProgress
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each


def deleted(
    io: FileIO,
    paths: Collection[str],
    each: Each,
    progress: WorkProgress,
    owns: Callable[[str], bool] = lambda path: True,
) -> frozenset[str]:
    """Deletes those files that the table owns, one or several at a time as `each` does, and tells how many; returns
    those that are gone. Others stay as orphan files."""

    def delete(path: str) -> str | None:
        if not owns(path):
            return None
        try:
            io.delete(path)
        except (SqlextError, OSError):
            return None
        return path

    results = progress.counted("delete files", each(delete, paths), len(paths))
    return frozenset(path for path in results if path is not None)


def deletes_in(catalog: Catalog, table: LoadedTable, folder: str) -> bool:
    """Whether files in one of the table's folders are its own to delete, which those of a folder outside of the
    warehouse are not unless a setting names it. Raises as `Catalog.owned_by`."""
    return catalog.owned_by(table)(f"{folder.rstrip('/')}/file")
