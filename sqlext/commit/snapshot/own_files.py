"""Files whose names no other commit uses."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from sqlext.errors import SqlextError, StorageError
from sqlext.storage.file_io import FileIO


def create_own_file(io: FileIO, location: str, data: bytes, *, make_folders: bool = True) -> None:
    """As `FileIO.create`, but raises StorageError for anything else than a SqlextError, `FileNotFoundError` or
    `FileExistsError`, even for a lost answer: nothing refers to the file yet, so it may exist or not."""
    try:
        io.create(location, data, make_folders=make_folders)
    except (SqlextError, FileNotFoundError, FileExistsError):
        raise
    except Exception as error:
        raise StorageError(
            "STORAGE_FAILURE", operation="Writing", path=location, reason=str(error) or type(error).__name__
        ) from error


def delete_files(io: FileIO, paths: Iterable[str]) -> None:
    """Deletes files that no metadata names; a file that cannot be deleted is left as an orphan."""
    for path in paths:
        with suppress(SqlextError, OSError):
            io.delete(path)
