"""Tables that a warehouse folder keeps for a time after their DROP: their folders, moved aside as they are.

They lie in `.sqlext-dropped/<namespace>/<table>/<time>-<id>`, the time in milliseconds since 1970. A move is one step,
so a table is there, or aside, and never half.
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
    """What one warehouse on this machine keeps; `retention_ms` 0: nothing. `clock` tells milliseconds since 1970."""

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
        """Moves the table's folder aside; `FileNotFoundError` when it is gone.

        `AnalysisError` PATH_OUTSIDE_WAREHOUSE where a link leads to another place for what is dropped.
        """
        require_below(self._root, self._warehouse)
        place = f"{self._clock():015d}-{uuid.uuid4().hex[:8]}"
        self._io.move_folder(location, join(self._folder(identifier), place))

    def restore(self, identifier: TableIdentifier, location: str) -> bool:
        """Moves the folder that was dropped last back; False if there is none. `FileExistsError` for a taken place."""
        for dropped, place in sorted(self._of(identifier), key=lambda one: one[1], reverse=True):
            if self._is_kept(dropped):
                self._io.move_folder(place, location)
                return True
        return False

    def tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        """Those of the namespace that can be brought back, newest first."""
        folder = join(self._root, *namespace)
        names = self._io.list_folders(folder) if self.keeps and self._io.folder_exists(folder) else ()
        found = [one for name in names for one, _ in self._of(TableIdentifier(namespace, name))]
        return tuple(sorted(filter(self._is_kept, found), key=lambda one: one.dropped_at_ms, reverse=True))

    def expire(self, namespace: Namespace) -> None:
        """Deletes what is past its time in a namespace."""
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
