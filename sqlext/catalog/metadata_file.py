"""Metadata files of the folder of one table or view: their names, which is current, and how the next comes into being.

The layout is that of Iceberg's Hadoop catalog: `metadata/v<N>.metadata.json`, N from 1 upwards, and a hint of the
current N in `metadata/version-hint.text`. The hint may be behind or missing, never wrong: the current version is the
last one of the unbroken run that begins at the hint.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from sqlext.errors import CommitConflict, NotFoundError, SqlextError
from sqlext.spec.metadata.view_metadata import MARK_REACH, is_view_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join

HINT_NAME = "version-hint.text"
_VERSIONED = re.compile(r"v([0-9]{1,18})(?:\.gz\.metadata\.json|\.metadata\.json(?:\.gz)?)")
_SUFFIXES = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
_GZIP_SUFFIX = ".gz.metadata.json"
# So long a history is deleted in parts, by one commit after the other.
_MOST_TRIMMED = 100


@dataclass(frozen=True, slots=True)
class MetadataVersion:
    """One metadata file and its number."""

    number: int
    location: str


class MetadataFolder:
    """The `metadata` folder of a table or a view."""

    def __init__(self, io: FileIO, table_location: str) -> None:
        self._io = io
        self._folder = join(table_location, "metadata")

    def current(self) -> MetadataVersion | None:
        """The current version; None where there is no table. `NotFoundError` when its file has been lost."""
        while True:
            hint = self.hint()
            start = None if hint is None else self._version(hint)
            if start is None:
                start = self._newest_listed()
            if start is not None and start.number >= (hint or 0):
                return self._last_of_history(start)
            if hint is None:
                return None
            # An older version may be there, but to go back to it would drop commits without a word. A hint that has
            # changed is that of a table which was dropped or trimmed since.
            if self.hint() == hint:
                path = join(self._folder, f"v{hint}{_SUFFIXES[0]}")
                raise NotFoundError("FILE_NOT_FOUND", path=path, kind="table metadata")

    def hint(self) -> int | None:
        """The number in the hint file; None when there is none, or nothing sensible in it."""
        try:
            text = self._io.read(join(self._folder, HINT_NAME)).decode("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return int(text) if text.isdigit() and len(text) <= 18 and int(text) > 0 else None

    def create(
        self, number: int, data: bytes, *, compressed: bool, confirm: Callable[[], None] | None = None
    ) -> MetadataVersion:
        """Writes version `number`, which must be free under every spelling of its name, if `confirm` still finds in the
        folder what it is made for.

        `CommitConflict` when it is taken; `StorageError` when the store refused; `FileNotFoundError` when the folder
        has gone (only version 1 makes it); the errors of `confirm`. Any other exception: it may or may not be there.
        """
        taken = self._version(number)
        location = join(self._folder, f"v{number}{_GZIP_SUFFIX if compressed else _SUFFIXES[0]}")
        if taken is not None:
            raise _lost(taken.location)
        try:
            stored = gzip.compress(data, mtime=0) if compressed else data
            self._io.create(location, stored, make_folders=number == 1, confirm=confirm)
        except FileExistsError:
            # A store may say so of the very file, where the request for it was delivered twice.
            if not self._is_there(location, stored):
                raise _lost(location) from None
        return MetadataVersion(number, location)

    def _is_there(self, location: str, data: bytes) -> bool:
        with suppress(SqlextError, OSError):
            return self._io.read(location) == data
        return False

    def advance_hint(self, version: MetadataVersion) -> None:
        """Writes the hint unless it is there already or further on; a failure is none, since readers look further."""

        def confirm() -> None:
            # A writer that stood still may find the table dropped by now, or another one in its place.
            if not self._io.exists(version.location):
                raise FileNotFoundError(version.location)

        with suppress(SqlextError, OSError):
            if (self.hint() or 0) < version.number:
                self._io.replace(join(self._folder, HINT_NAME), str(version.number).encode("ascii"), confirm=confirm)

    def holds_metadata(self) -> bool:
        """Whether this is the folder of a table or a view, sound or damaged."""
        return self.hint() is not None or self._newest_listed() is not None

    def holds_view(self) -> bool:
        """Whether this is a view's folder; one whose current version is lost counts as a table's."""
        try:
            version = self.current()
            if version is None:
                return False
            with self._io.open_input(version.location) as file:
                return is_view_metadata(file.read(MARK_REACH))
        except (NotFoundError, FileNotFoundError):
            return False

    def trim(self, oldest_kept: int, is_own: Callable[[bytes], bool]) -> None:
        """Deletes versions before that one, oldest first, so that the others are an unbroken run; a failure is none.

        It ends at one that is not the table's own: a table that was dropped and made anew counts from 1 again.
        """
        with suppress(SqlextError, OSError):
            before = self._version(oldest_kept - 1)
            if before is None:
                return
            old = [before]
            if self._version(oldest_kept - 2) is not None:
                numbers = {version_number(status.path): status.path for status in self._io.list(self._folder)}
                kept = sorted((number, path) for number, path in numbers.items() if number and number < oldest_kept)
                old = [MetadataVersion(number, path) for number, path in kept[:_MOST_TRIMMED]]
            for version in old:
                self._io.delete(version.location, confirm=partial(self._require_own, version.location, is_own))

    def _require_own(self, location: str, is_own: Callable[[bytes], bool]) -> None:
        """NotFoundError where another table's file has taken the place of that one."""
        if not is_own(self._io.read(location)):
            raise NotFoundError("FILE_NOT_FOUND", path=location, kind="table metadata")

    def _last_of_history(self, start: MetadataVersion) -> MetadataVersion:
        """The last of the run that begins at `start`, unless that lies in a gap.

        A writer that stood still for long may set the hint back, or make a version where old ones have been trimmed:
        the version before it is gone then, and never before the current one.
        """
        last = self._last_of_run(start)
        if last == start and start.number > 1 and self._version(start.number - 1) is None:
            newest = self._newest_listed()
            if newest is not None and newest.number > last.number:
                return self._last_of_run(newest)
        return last

    def _last_of_run(self, version: MetadataVersion) -> MetadataVersion:
        following = self._version(version.number + 1)
        while following is not None:
            version, following = following, self._version(following.number + 1)
        return version

    def _version(self, number: int) -> MetadataVersion | None:
        for suffix in _SUFFIXES:
            location = join(self._folder, f"v{number}{suffix}")
            if self._io.exists(location):
                return MetadataVersion(number, location)
        return None

    def _newest_listed(self) -> MetadataVersion | None:
        numbers = (version_number(status.path) for status in self._io.list(self._folder))
        newest = max((number for number in numbers if number is not None), default=None)
        return None if newest is None else self._version(newest)


def version_number(location: str) -> int | None:
    """N of `.../v<N>.metadata.json` and its gzipped spellings; None for any other name."""
    match = _VERSIONED.fullmatch(location.rpartition("/")[2])
    return None if match is None else int(match.group(1))


def _lost(location: str) -> CommitConflict:
    return CommitConflict("COMMIT_CONFLICT", name=location, reason="another writer has made this version")
