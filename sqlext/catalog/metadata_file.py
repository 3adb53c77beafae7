"""Metadata files in the folder of a table or view: names, the current version, and the creation of the next.

The layout is that of Iceberg's Hadoop catalog: `metadata/v<N>.metadata.json`, N from 1, and a hint of the current N in
`metadata/version-hint.text`. The hint may be behind or missing, never ahead: the current version is the last one of the
gapless run that starts at the hint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from sqlext.errors import CommitConflict, NotFoundError, SqlextError
from sqlext.spec.metadata.view_metadata import VIEW_HEADER_BYTES, is_view_metadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join

HINT_NAME = "version-hint.text"
_VERSIONED = re.compile(r"v([0-9]{1,18})(?:\.gz\.metadata\.json|\.metadata\.json(?:\.gz)?)")
_SUFFIXES = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
_GZIP_SUFFIX = ".gz.metadata.json"
# A longer history is deleted in parts, by successive commits.
_MOST_TRIMMED = 100
# So many versions are looked for by name, since the folder may have thousands of files.
_MOST_SOUGHT = 8


@dataclass(frozen=True, slots=True)
class MetadataVersion:
    """A metadata file and its number."""

    number: int
    location: str


class MetadataFolder:
    """The `metadata` folder of a table or view."""

    def __init__(self, io: FileIO, table_location: str) -> None:
        self._io = io
        self._folder = join(table_location, "metadata")

    @property
    def location(self) -> str:
        return self._folder

    def current(self) -> MetadataVersion | None:
        """The current version; None without a table. Raises NotFoundError if the current file is lost."""
        while True:
            hint = self.hint()
            start = None if hint is None else self._version(hint)
            if start is None:
                start = self._newest_listed()
            if start is not None and start.number >= (hint or 0):
                return self._last_of_history(start)
            if hint is None:
                return None
            # To fall back to an older version would silently drop commits. A hint that has changed is that of a table
            # which has been dropped or trimmed since.
            if self.hint() == hint:
                path = join(self._folder, f"v{hint}{_SUFFIXES[0]}")
                raise NotFoundError("FILE_NOT_FOUND", path=path, kind="table metadata")

    def hint(self) -> int | None:
        """The number in the hint file; None if the file is missing or invalid."""
        try:
            text = self._io.read(join(self._folder, HINT_NAME)).decode("ascii").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return int(text) if text.isdigit() and len(text) <= 18 and int(text) > 0 else None

    def create(
        self, number: int, data: bytes, *, compressed: bool, confirm: Callable[[], None] | None = None
    ) -> MetadataVersion:
        """Writes version `number`, which must be free under every spelling of its name, if `confirm` passes.

        `compressed`: whether `data` are compressed with gzip.

        Raises CommitConflict if the number is taken, StorageError if the store refuses, FileNotFoundError if the folder
        is gone (only version 1 creates it), and the errors of `confirm`. After any other exception the file may exist.
        """
        taken = self._version(number)
        location = self.location_of(number, compressed=compressed)
        if taken is not None:
            raise _lost(taken.location)
        try:
            self._io.create(location, data, make_folders=number == 1, confirm=confirm)
        except FileExistsError:
            # The file may be the own one, if the store got the request twice.
            if not self._is_there(location, data):
                raise _lost(location) from None
        return MetadataVersion(number, location)

    def location_of(self, number: int, *, compressed: bool) -> str:
        """Where `create` writes version `number`."""
        return join(self._folder, f"v{number}{_GZIP_SUFFIX if compressed else _SUFFIXES[0]}")

    def _is_there(self, location: str, data: bytes) -> bool:
        with suppress(SqlextError, OSError):
            return self._io.read(location) == data
        return False

    def advance_hint(self, version: MetadataVersion) -> None:
        """Sets the hint, unless it is there or ahead; failures are ignored, since readers search from the hint on."""

        def confirm() -> None:
            # After a pause of this writer the table may be dropped or recreated.
            if not self._io.exists(version.location):
                raise FileNotFoundError(version.location)

        with suppress(SqlextError, OSError):
            if (self.hint() or 0) < version.number:
                self._io.replace(join(self._folder, HINT_NAME), str(version.number).encode("ascii"), confirm=confirm)

    def holds_metadata(self) -> bool:
        """Whether this is the folder of a table or view, intact or damaged."""
        return self.hint() is not None or self._newest_listed() is not None

    def holds_view(self) -> bool:
        """Whether this is the folder of a view; a damaged one counts as a table's."""
        try:
            version = self.current()
            if version is None:
                return False
            with self._io.open_input(version.location) as file:
                return is_view_metadata(file.read(VIEW_HEADER_BYTES))
        except (NotFoundError, FileNotFoundError):
            return False

    def trim(self, oldest_kept: int, is_own: Callable[[bytes], bool]) -> None:
        """Deletes versions before `oldest_kept`, oldest first, so that the run stays gapless; failures are ignored.

        Stops at a file that is not the table's own: a recreated table counts from 1 again.
        """
        with suppress(SqlextError, OSError):
            for version in self._before(oldest_kept):
                self._io.delete(version.location, confirm=partial(self._require_own, version.location, is_own))

    def _before(self, number: int) -> Sequence[MetadataVersion]:
        """The versions before `number`, oldest first; of many only the oldest."""
        sought = list[MetadataVersion]()
        while (found := self._version(number - 1 - len(sought))) is not None:
            sought.append(found)
            if len(sought) > _MOST_SOUGHT:
                numbers = {version_number(status.path): status.path for status in self._io.list(self._folder)}
                old = sorted((one, path) for one, path in numbers.items() if one and one < number)
                return [MetadataVersion(one, path) for one, path in old[:_MOST_TRIMMED]]
        return sought[::-1]

    def _require_own(self, location: str, is_own: Callable[[bytes], bool]) -> None:
        """Raises NotFoundError if another table's file is at this location."""
        if not is_own(self._io.read(location)):
            raise NotFoundError("FILE_NOT_FOUND", path=location, kind="table metadata")

    def _last_of_history(self, start: MetadataVersion) -> MetadataVersion:
        """The last version of the run from `start`; if `start` lies in a gap, of the run from the newest listed one.

        After a pause, a writer may set the hint back or create a version among trimmed ones: that version's predecessor
        is missing, which is never so for the current version.
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
    """N of `.../v<N>.metadata.json` or a gzipped spelling; None for any other name."""
    match = _VERSIONED.fullmatch(location.rpartition("/")[2])
    return None if match is None else int(match.group(1))


def _lost(location: str) -> CommitConflict:
    return CommitConflict("COMMIT_CONFLICT", name=location, reason="another writer has made this version")
