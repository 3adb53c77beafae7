"""Dropped tables that a warehouse folder retains, by moving their folders.

A table is moved to `.sqlext-dropped/<namespace>/<table>/<time>-<id>`, with the time in milliseconds since 1970. The
move is atomic.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

from sqlext.catalog.dropped_table import DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import join, require_below

FOLDER_NAME = ".sqlext-dropped"


class DroppedFolders:
    """The dropped tables of a local warehouse; `retention_ms` 0: none. `clock` gives milliseconds since 1970."""

    def __init__(self, root: str, retention_ms: int, clock: Callable[[], int]) -> None:
        self._io = LocalFileIO()
        self._warehouse = root
        self._root = join(root, FOLDER_NAME)
        self._retention_ms = retention_ms
        self._clock = clock

    @property
    def keeps(self) -> bool:
        return self._retention_ms > 0

    def keep(self, identifier: TableIdentifier, location: str) -> None:
        """Moves the folder of a table that is dropped. Raises FileNotFoundError if it is gone.

        Raises AnalysisError PATH_OUTSIDE_WAREHOUSE if a symbolic link redirects the folder of dropped tables.
        """
        require_below(self._root, self._warehouse)
        place = f"{self._clock():015d}-{uuid.uuid4().hex[:8]}"
        self._io.move_folder(location, join(self._folder(identifier), place))

    def restore(self, identifier: TableIdentifier, location: str) -> bool:
        """Moves the last dropped folder back; False if there is none. Raises FileExistsError if the location is
        taken."""
        for dropped, place in sorted(self._of(identifier), key=lambda one: one[1], reverse=True):
            if self._is_kept(dropped):
                self._io.move_folder(place, location)
                return True
        return False

    def tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        """The namespace's tables that can be restored, latest drop first."""
        folder = join(self._root, *namespace)
        names = self._io.list_folders(folder) if self.keeps and self._io.folder_exists(folder) else ()
        found = [one for name in names for one, _ in self._of(TableIdentifier(namespace, name))]
        return tuple(sorted(filter(self._is_kept, found), key=lambda one: one.dropped_at_ms, reverse=True))

    def expire(self, namespace: Namespace) -> None:
        """Deletes the namespace's dropped tables whose retention has ended."""
        if not self.keeps:
            return
        folder = join(self._root, *namespace)
        for name in self._io.list_folders(folder) if self._io.folder_exists(folder) else ():
            for dropped, place in self._of(TableIdentifier(namespace, name)):
                if not self._is_kept(dropped):
                    self._io.delete_folder(place)

    def _of(self, identifier: TableIdentifier) -> Iterator[tuple[DroppedTable, str]]:
        folder = self._folder(identifier)
        for name in self._io.list_folders(folder) if self._io.folder_exists(folder) else ():
            time, separator, _ = name.partition("-")
            if separator and time.isdigit():
                yield DroppedTable(identifier, int(time)), join(folder, name)

    def _is_kept(self, dropped: DroppedTable) -> bool:
        return dropped.dropped_at_ms + self._retention_ms > self._clock()

    def _folder(self, identifier: TableIdentifier) -> str:
        return join(self._root, *identifier.namespace, identifier.name)
