"""Which tables and views of a database use a folder, so that no two share one.

The database knows the metadata file of a table, not its location. A file `<folder>/metadata/<file>` whose folder has
the name of the table is taken to be in the table's location. The metadata of other tables is read: of those with
`write.metadata.path`, of renamed ones, and of one whose default location is asked for but which has its metadata
elsewhere. So a location is overlooked only if its table has all three: a LOCATION other than its default,
`write.metadata.path`, and there a folder of its own name above one called `metadata`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlext.catalog.sql.records import VIEW, CatalogRecords, MetadataRow
from sqlext.errors import SqlextError
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.spec.metadata.view_metadata import decode_view_metadata
from sqlext.storage.allowed_locations import resolved
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each, in_threads
from sqlext.storage.location import join, same_place

_METADATA = "/metadata"
# What catalogs append to the name of a table in the name of its folder, if another one uses the plain name.
_DISTINCTION = re.compile(r"-[0-9a-f]{8}[0-9a-f-]*")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a table or view is: its location and the folder of its metadata file.

    `uuid` is None if its metadata was not read; then the folder is the location or in it.
    """

    location: str
    metadata_folder: str
    uuid: str | None = None


class _Folder:
    """A folder that is compared with many others."""

    def __init__(self, location: str) -> None:
        self._place = same_place(location)
        self._below = self._place.rstrip("/") + "/"

    def overlaps(self, location: str) -> bool:
        """Whether one of the two contains the other, or they are one."""
        place = same_place(location)
        return place.startswith(self._below) or self._place.startswith(place.rstrip("/") + "/") or place == self._place


class TableFolders:
    """The folders of the tables and views in a database, also those of other catalogs and, unless said otherwise, those
    of dropped tables that can be restored."""

    def __init__(self, io: FileIO, records: CatalogRecords, root: str, each: Each = in_threads) -> None:
        """`root` is the catalog's warehouse; `each` applies a function to many files, of which there may be
        thousands."""
        self._io = io
        self._records = records
        self._root = root
        self._each = each
        # By metadata file, which never changes, if it could be read; of the rows of the last question only.
        self._known: dict[str, _Place] = {}

    def user_of(self, folder: str, *, dropped: bool = True) -> str | None:
        """The metadata file of a table or view that has its location or its metadata in the folder, or in one that
        contains it; None without one."""
        wanted = _Folder(folder)
        for row, place in self._places(self._records.metadata_rows(dropped=dropped), (wanted,)):
            if wanted.overlaps(place.location) or (place.uuid and wanted.overlaps(place.metadata_folder)):
                return row.metadata_location
        return None

    def owner_of(self, folder: str, *, dropped: bool = True) -> str | None:
        """As `user_of`, but tables may have their metadata in the folder, as tables may share one for it."""
        wanted = _Folder(folder)
        for row, place in self._places(self._records.metadata_rows(dropped=dropped), (wanted,)):
            if wanted.overlaps(place.location):
                return row.metadata_location
        return None

    def location_of(self, row: MetadataRow) -> str:
        """The location of the table; if its metadata cannot be read, that of one whose metadata is where it is by
        default."""
        return (self._read(row) or _default_place(row.metadata_location)).location

    def of_others(self, metadata: TableMetadata, metadata_file: str, folders: Sequence[str]) -> frozenset[str]:
        """The locations and folders of metadata, with links resolved, of tables other than this one; of those that
        `_places` overlooks only if they overlap its `folders`.

        The table may be among the rows under another name, or as one that was dropped. A folder that has its metadata
        file is its own too.
        """
        own = _default_place(metadata_file)
        unread, read = set[str](), set[str]()
        for _, place in self._places(self._records.metadata_rows(), [_Folder(folder) for folder in folders]):
            if place.uuid is None:
                unread.add(place.location)
            elif place.uuid != metadata.table_uuid:
                read |= {place.location, place.metadata_folder}
        others = {_resolved(one) for one in unread} - {_resolved(own.location)} | {_resolved(one) for one in read}
        return frozenset(others - {_resolved(own.metadata_folder)})

    def _places(self, rows: Sequence[MetadataRow], asked: Sequence[_Folder]) -> Iterator[tuple[MetadataRow, _Place]]:
        """Where the tables and views are, for a question about the folders `asked`; those first whose metadata is not
        read for it."""
        unsure = []
        for row in rows:
            place = _default_place(row.metadata_location)
            if _has_name(place, row.name):
                yield row, place
                usual = join(self._root, *row.namespace, row.name)
                if usual == place.location or not any(folder.overlaps(usual) for folder in asked):
                    continue
            unsure.append(row)
        yield from self._read_places(unsure, rows)

    def _read_places(
        self, unsure: Sequence[MetadataRow], rows: Sequence[MetadataRow]
    ) -> Iterator[tuple[MetadataRow, _Place]]:
        present = {row.metadata_location for row in rows}
        known = {file: place for file, place in self._known.items() if file in present}
        new = [row for row in unsure if row.metadata_location not in known]
        if new:
            places = self._each(self._read, new)
            known |= {row.metadata_location: place for row, place in zip(new, places, strict=True) if place}
        self._known = known
        for row in unsure:
            yield row, known.get(row.metadata_location) or _default_place(row.metadata_location)

    def _read(self, row: MetadataRow) -> _Place | None:
        """As the metadata says; None if it cannot be read: it is gone, or in a store that this catalog cannot read."""
        file = row.metadata_location
        try:
            data = self._io.read(file)
            if row.kind == VIEW:
                view = decode_view_metadata(data, file)
                return _Place(view.location, _folder(file), view.view_uuid)
            table = decode_table_metadata(data, file)
            return _Place(table.location, _folder(file), table.table_uuid)
        except (SqlextError, OSError):
            return None


def _default_place(metadata_file: str) -> _Place:
    """The place of a table whose metadata file is where it is by default."""
    folder = _folder(metadata_file)
    return _Place(folder.removesuffix(_METADATA), folder)


def _has_name(place: _Place, name: str) -> bool:
    """Whether the metadata is below a folder of this name, with or without a distinction."""
    folder = place.location.rpartition("/")[2]
    if place.location == place.metadata_folder or not folder.startswith(name):
        return False
    return folder == name or _DISTINCTION.fullmatch(folder, len(name)) is not None


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _resolved(location: str) -> str:
    """With links resolved, if the location's scheme is known."""
    try:
        return resolved(location)
    except SqlextError:
        return location
