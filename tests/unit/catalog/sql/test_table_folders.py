"""Tables of a database keep to folders of their own, also those whose metadata is not in their location."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.made_tables import DB, OTHER, create, land, refused
from small_tables import ORDERS, data_file, files_below
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.sql.database import SqliteDatabase
from sqlext.catalog.sql.records import TABLE, CatalogRecords, Record
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.errors import AnalysisError
from sqlext.spec.metadata.table_metadata import encode_table_metadata
from sqlext.storage.allowed_locations import AllowedLocations
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import join, to_local_path, to_location

THIRD = TableIdentifier(DB, "third")
PATH = "write.metadata.path"
# Below the folder of the test: beside the tables, in a folder of the table's name, in one that looks like a table's.
ELSEWHERE = ["elsewhere", "elsewhere/orders", "elsewhere/metadata", "elsewhere/db/orders/metadata", "w/db/metadata"]


class CountingIO(LocalFileIO):
    """Files whose reads are listed."""

    def __init__(self) -> None:
        super().__init__()
        self.read_files: list[str] = []

    def read(self, location: str) -> bytes:
        self.read_files.append(location)
        return super().read(location)


class Lake:
    """A catalog on an SQLite file, in a folder in which it may delete anywhere."""

    def __init__(self, folder: Path, *, name: str = "lake", retention_ms: int = 0) -> None:
        self.folder = to_location(folder)
        self.io = CountingIO()
        self.records = CatalogRecords(
            SqliteDatabase(name, str(folder / "catalog.db")), name, create=True, upgrade=False
        )
        self.catalog = SqlCatalog(
            name,
            str(folder / "w"),
            self.io,
            self.records,
            allowed=AllowedLocations((self.folder,)),
            undrop_retention_ms=retention_ms,
        )
        if not self.catalog.namespace_exists(DB):
            self.catalog.create_namespace(DB, {})

    def created(self, identifier: TableIdentifier, metadata: str = "", **given: str) -> LoadedTable:
        properties = {PATH: join(self.folder, metadata)} if metadata else {}
        return create(self.catalog, identifier, properties=properties, **given)

    def filled(self, table: LoadedTable, identifier: TableIdentifier) -> LoadedTable:
        return land(self.catalog, AppendFiles((data_file(table.metadata, [1, 2]),)), identifier, table)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def in_use(lake: Lake, location: str) -> bool:
    """Whether a table is refused there, and none is made."""
    refused_as = None
    try:
        lake.created(THIRD, location=location)
    except AnalysisError as refusal:
        refused_as = refusal.condition
    assert refused_as in (None, "LOCATION_IN_USE")
    assert lake.catalog.drop_table(THIRD, purge=False) is (refused_as is None)
    return refused_as is not None


@pytest.mark.parametrize("metadata", ELSEWHERE)
def test_a_renamed_table_keeps_its_folder(lake: Lake, tmp_path: Path, metadata: str) -> None:
    first = lake.filled(lake.created(ORDERS, metadata), ORDERS)
    assert first.metadata_location.startswith(join(lake.folder, metadata))
    lake.catalog.rename_table(ORDERS, OTHER)
    kept = files_below(tmp_path)
    second = lake.filled(lake.created(ORDERS), ORDERS)
    assert second.metadata.location != first.metadata.location
    assert lake.catalog.drop_table(ORDERS, purge=True)
    assert kept <= files_below(tmp_path)
    assert lake.catalog.load_table(OTHER).metadata == first.metadata


@pytest.mark.parametrize("metadata", ["", *ELSEWHERE])
@pytest.mark.parametrize("explicit", [False, True])
def test_a_location_at_below_or_above_a_table_is_in_use(lake: Lake, metadata: str, explicit: bool) -> None:
    given = {"location": join(lake.folder, "own", "orders")} if explicit else {}
    # The docstring of `table_folders` names what is overlooked.
    if explicit and metadata == "elsewhere/db/orders/metadata":
        return
    location = lake.created(ORDERS, metadata, **given).metadata.location
    for taken in (location, location + "/inner/most", location.rpartition("/")[0], location + "/", lake.folder):
        assert in_use(lake, taken), taken
    for free in (location + "-2", join(lake.folder, "own", "others")):
        assert not in_use(lake, free), free


def test_a_folder_of_metadata_alone_is_in_use_and_may_be_shared(lake: Lake) -> None:
    for number in range(3):
        lake.created(TableIdentifier(DB, f"t{number}"), "elsewhere")
    assert in_use(lake, join(lake.folder, "elsewhere"))
    assert in_use(lake, join(lake.folder, "elsewhere", "inner"))


@pytest.mark.parametrize("metadata", ["", *ELSEWHERE])
def test_a_dropped_table_keeps_its_folder_until_it_comes_back(tmp_path: Path, metadata: str) -> None:
    lake = Lake(tmp_path, retention_ms=3_600_000)
    first = lake.filled(lake.created(ORDERS, metadata), ORDERS)
    lake.catalog.drop_table(ORDERS, purge=False)
    second = lake.created(ORDERS)
    assert second.metadata.location != first.metadata.location
    lake.catalog.drop_table(ORDERS, purge=True)
    lake.catalog.undrop_table(ORDERS)
    assert lake.catalog.load_table(ORDERS).metadata == first.metadata


@pytest.mark.parametrize("metadata", ["", *ELSEWHERE])
def test_a_table_comes_back_to_no_folder_that_is_in_use(tmp_path: Path, metadata: str) -> None:
    lake = Lake(tmp_path, retention_ms=3_600_000)
    first = lake.created(ORDERS, metadata)
    lake.catalog.drop_table(ORDERS, purge=False)
    # Another engine knows nothing of dropped tables.
    second = lake.catalog._files.write_table(replace(first.metadata, properties={}, table_uuid=_new_uuid()), None)
    lake.records.insert(OTHER, Record(TABLE, second))
    with pytest.raises(AnalysisError) as caught:
        lake.catalog.undrop_table(ORDERS)
    assert caught.value.condition == "LOCATION_IN_USE"
    assert not lake.catalog.table_exists(ORDERS)


@pytest.mark.parametrize("metadata", ["", *ELSEWHERE])
def test_a_table_is_registered_once(lake: Lake, metadata: str) -> None:
    table = lake.created(ORDERS, metadata)
    with refused(AnalysisError):
        lake.catalog.register_table(OTHER, table.metadata_location)
    lake.catalog.rename_table(ORDERS, THIRD)
    with refused(AnalysisError):
        lake.catalog.register_table(OTHER, table.metadata_location)
    copied = join(lake.folder, "copied", "00000-copy.metadata.json")
    lake.io.create(copied, lake.io.read(table.metadata_location))
    with refused(AnalysisError):
        lake.catalog.register_table(OTHER, copied)
    lake.catalog.drop_table(THIRD, purge=False)
    assert lake.catalog.register_table(OTHER, table.metadata_location).metadata == table.metadata


def test_tables_that_share_a_folder_of_metadata_are_registered(lake: Lake) -> None:
    tables = [lake.created(TableIdentifier(DB, f"t{number}"), "elsewhere") for number in range(2)]
    for table in tables:
        lake.catalog.drop_table(table.identifier, purge=False)
    for table in tables:
        lake.catalog.register_table(table.identifier, table.metadata_location)
    assert len(lake.catalog.list_tables(DB)) == 2


@pytest.mark.parametrize("metadata", ELSEWHERE)
@pytest.mark.parametrize("inner", ["", "/data", "/inner"])
def test_purge_leaves_a_table_of_another_engine_in_its_folder(
    lake: Lake, tmp_path: Path, metadata: str, inner: str
) -> None:
    """It may have been made at the same location, or below it, and name files that the purged table names too."""
    table = lake.filled(lake.created(ORDERS), ORDERS)
    location = table.metadata.location + inner
    other = replace(
        table.metadata, location=location, properties={PATH: join(lake.folder, metadata)}, table_uuid=_new_uuid()
    )
    file = join(lake.folder, metadata, "00000-other.metadata.json")
    lake.io.create(file, encode_table_metadata(other))
    lake.records.insert(OTHER, Record(TABLE, file))
    before = files_below(tmp_path)
    assert lake.catalog.drop_table(ORDERS, purge=True)
    below = to_local_path(location).removeprefix(f"{tmp_path}/")
    assert {path for path in before if path.startswith((below, metadata))} <= files_below(tmp_path)
    assert lake.catalog.load_table(OTHER).metadata == other


@pytest.mark.parametrize("metadata", ["", *ELSEWHERE])
def test_purge_takes_all_files_of_a_table_that_was_dropped_and_registered(tmp_path: Path, metadata: str) -> None:
    """Then it is among the dropped tables too."""
    lake = Lake(tmp_path, retention_ms=3_600_000)
    table = lake.filled(lake.created(ORDERS, metadata), ORDERS)
    lake.catalog.drop_table(ORDERS, purge=False)
    lake.catalog.register_table(OTHER, table.metadata_location)
    lake.catalog.drop_table(OTHER, purge=True)
    assert files_below(tmp_path) == {"catalog.db"}


def test_a_table_in_its_default_place_is_not_read_for_another(lake: Lake, tmp_path: Path) -> None:
    """Nor is one that shares its name, or is in a folder that PyIceberg or Iceberg name otherwise."""
    for number in range(20):
        lake.created(TableIdentifier(DB, f"t{number}"))
    lake.catalog.create_namespace(("other",), {})
    lake.created(TableIdentifier(("other",), "orders"))
    lake.created(TableIdentifier(DB, "pyiceberg"), location=join(lake.folder, "w", "db.db", "pyiceberg"))
    lake.created(TableIdentifier(DB, "unique"), location=join(lake.folder, "w", f"unique-{uuid.UUID(int=7)}"))
    lake.io.read_files.clear()
    lake.created(ORDERS)
    lake.created(OTHER, location=join(lake.folder, "own"))
    assert lake.io.read_files == []


def test_metadata_elsewhere_is_read_once(lake: Lake) -> None:
    files = [lake.created(TableIdentifier(DB, f"t{number}"), "elsewhere").metadata_location for number in range(5)]
    lake.created(ORDERS)
    lake.io.read_files.clear()
    lake.created(OTHER)
    lake.created(THIRD)
    assert lake.io.read_files == []
    changed = lake.filled(lake.catalog.load_table(TableIdentifier(DB, "t3")), TableIdentifier(DB, "t3"))
    lake.io.read_files.clear()
    lake.created(TableIdentifier(DB, "fourth"))
    assert set(lake.io.read_files) == {changed.metadata_location} - set(files)


def test_metadata_that_cannot_be_read_hinders_nobody(lake: Lake) -> None:
    """It may be of a catalog in the same database, in a store that this one does not know, or be gone."""
    for number, file in enumerate(("gs://b/t/x.metadata.json", join(lake.folder, "gone", "00000-x.metadata.json"))):
        lake.records.insert(TableIdentifier(DB, f"t{number}"), Record(TABLE, file))
    table = lake.filled(lake.created(ORDERS), ORDERS)
    assert in_use(lake, join(lake.folder, "gone"))
    assert lake.catalog.drop_table(ORDERS, purge=True)
    assert files_below(Path(to_local_path(table.metadata.location))) == set()


def _new_uuid() -> str:
    return str(uuid.uuid4())
