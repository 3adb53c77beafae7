"""Files that a commit writes under names of its own, so that no other writer is in the way of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from sqlext.errors import SqlextError, StorageError
from sqlext.storage.file_io import FileIO


def create_own_file(io: FileIO, location: str, data: bytes, *, make_folders: bool = True) -> None:
    """As `FileIO.create`, but every refusal is an error of ours, and so is a store that gives no answer: nobody knows
    the file yet, whether it is there or not. `FileNotFoundError` and `FileExistsError` pass."""
    try:
        io.create(location, data, make_folders=make_folders)
    except (SqlextError, FileNotFoundError, FileExistsError):
        raise
    except Exception as error:
        raise StorageError(
            "STORAGE_FAILURE", operation="Writing", path=location, reason=str(error) or type(error).__name__
        ) from error


def delete_files(io: FileIO, paths: Iterable[str]) -> None:
    """Deletes files that no metadata names; one that cannot be deleted is left as an orphan."""
    for path in paths:
        with suppress(SqlextError, OSError):
            io.delete(path)
