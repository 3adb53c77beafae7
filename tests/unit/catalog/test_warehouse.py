"""The warehouse folder: names, versions, damage, and what a drop takes with it."""

from __future__ import annotations

import gzip
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import (
    ORDERS,
    Writer,
    data_file,
    files_below,
    ids_read_by_pyiceberg,
    warehouse_catalog,
)
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.static_table import load_static_table
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.append import AppendFiles
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    CorruptionError,
    NotFoundError,
    StorageError,
    UnsupportedError,
    ValidationConflict,
)
from sqlext.storage.file_io import LocalFileIO


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


@pytest.fixture
def catalog(writer: Writer) -> WarehouseCatalog:
    return writer.catalog


@pytest.fixture
def metadata_folder(tmp_path: Path) -> Path:
    return tmp_path / "db/orders/metadata"


def test_files_have_the_names_of_the_hadoop_catalog(writer: Writer, tmp_path: Path, metadata_folder: Path) -> None:
    writer.append(1, base=writer.create())
    names = {path.name for path in metadata_folder.iterdir()}
    assert {"v1.metadata.json", "v2.metadata.json", "version-hint.text"} <= names
    assert (metadata_folder / "version-hint.text").read_text() == "2"
    assert writer.load().metadata.location == f"file://{tmp_path}/db/orders"


def test_the_version_is_found_beyond_a_hint_that_is_behind(writer: Writer, metadata_folder: Path) -> None:
    writer.append(1, base=writer.create())
    for hint in ("1", "", "x", "0", "-1"):
        (metadata_folder / "version-hint.text").write_text(hint)
        assert writer.load().metadata_location.endswith("v2.metadata.json")
    (metadata_folder / "version-hint.text").unlink()
    assert writer.load().metadata_location.endswith("v2.metadata.json")
    assert writer.append(2).table.metadata_location.endswith("v3.metadata.json")


def test_a_hint_behind_the_oldest_file_is_passed_over(writer: Writer, metadata_folder: Path) -> None:
    table = writer.create()
    for number in range(3):
        table = writer.append(number, base=table).table
    (metadata_folder / "v1.metadata.json").unlink()
    (metadata_folder / "version-hint.text").write_text("1")
    assert writer.load().metadata_location.endswith("v4.metadata.json")


def test_a_lost_metadata_file_is_not_silently_replaced_by_an_older_one(writer: Writer, metadata_folder: Path) -> None:
    writer.append(1, base=writer.create())
    (metadata_folder / "v2.metadata.json").unlink()
    with pytest.raises(NotFoundError) as raised:
        writer.load()
    assert raised.value.condition == "FILE_NOT_FOUND"
    assert "v2.metadata.json" in raised.value.message


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\x1f\x8bnonsense"])
def test_a_corrupt_metadata_file_is_named(writer: Writer, metadata_folder: Path, damage: bytes) -> None:
    writer.create()
    (metadata_folder / "v1.metadata.json").write_bytes(damage)
    with pytest.raises(CorruptionError, match=r"v1\.metadata\.json"):
        writer.load()


@pytest.mark.parametrize("name", ["v2.gz.metadata.json", "v2.metadata.json.gz"])
def test_gzipped_metadata_is_read_and_followed(writer: Writer, metadata_folder: Path, name: str) -> None:
    writer.append(1, base=writer.create())
    plain = metadata_folder / "v2.metadata.json"
    (metadata_folder / name).write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    table = writer.load()
    assert table.metadata_location.endswith(name)
    assert writer.append(2).table.metadata_location.endswith("v3.metadata.json")


def test_a_table_can_ask_for_gzipped_metadata(writer: Writer) -> None:
    table = writer.create(properties={"write.metadata.compression-codec": "gzip"})
    assert table.metadata_location.endswith("v1.metadata.json")
    table = writer.append(1, base=table).table
    assert table.metadata_location.endswith("v2.gz.metadata.json")
    assert ids_read_by_pyiceberg(table) == [1]


def test_a_version_taken_under_another_spelling_is_taken(writer: Writer, metadata_folder: Path) -> None:
    base = writer.create()
    data = (metadata_folder / "v1.metadata.json").read_bytes()
    (metadata_folder / "v2.gz.metadata.json").write_bytes(gzip.compress(data))
    with pytest.raises(CommitConflict):
        writer.catalog.commit(ORDERS, base, base.metadata)


def test_of_two_commits_on_one_base_one_lands(writer: Writer) -> None:
    base = writer.create()
    changed = replace(base.metadata, properties={"a": "1"})
    landed = writer.catalog.commit(ORDERS, base, changed)
    with pytest.raises(CommitConflict):
        writer.catalog.commit(ORDERS, base, replace(base.metadata, properties={"a": "2"}))
    assert writer.load() == landed
    assert landed.metadata.metadata_log[-1].metadata_file == base.metadata_location


def test_old_metadata_files_are_trimmed_only_when_asked(writer: Writer, metadata_folder: Path) -> None:
    properties = {"write.metadata.previous-versions-max": "2"}
    table = writer.create(properties=properties)
    for number in range(4):
        table = writer.append(number, base=table).table
    assert len(table.metadata.metadata_log) == 2
    assert len(list(metadata_folder.glob("v*.json"))) == 5

    writer.catalog.drop_table(ORDERS, purge=False)
    table = writer.create(properties={**properties, "write.metadata.delete-after-commit.enabled": "true"})
    for number in range(4):
        table = writer.append(number, base=table).table
    assert {path.name for path in metadata_folder.glob("v*.json")} == {f"v{n}.metadata.json" for n in (3, 4, 5)}
    assert ids_read_by_pyiceberg(table) == [0, 1, 2, 3]


def test_a_commit_into_the_gap_of_trimmed_versions_does_not_count(tmp_path: Path, writer: Writer) -> None:
    properties = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
    base = writer.create(properties=properties)
    stalled = [True]

    class StalledIO(LocalFileIO):
        """A process that stands still after its last look, just before the file gets its name."""

        def create(self, location: str, data: bytes, **given: Any) -> None:
            look = given.pop("confirm", None)

            def look_and_stand_still() -> None:
                if look is not None:
                    look()
                    if stalled.pop() if stalled else False:
                        for number in range(4):
                            writer.append(number)

            super().create(location, data, confirm=look_and_stand_still, **given)

    slow = warehouse_catalog(tmp_path, StalledIO())
    with pytest.raises(CommitStateUnknown):
        slow.commit(ORDERS, base, replace(base.metadata, properties={}))
    assert writer.load().metadata_location.endswith("v5.metadata.json")

    stalled.append(True)
    late = Writer(slow, seed=9)
    assert late.append(100, base=writer.load()).attempts == 2
    assert set(ids_read_by_pyiceberg(writer.load())) == {0, 1, 2, 3, 100}


def test_who_race_for_a_version_race_for_one_name(writer: Writer, metadata_folder: Path) -> None:
    """One of the two sets how metadata files are compressed, which is in their names."""
    base = writer.create()
    gzipped = replace(base.metadata, properties={"write.metadata.compression-codec": "gzip"})
    taken = [False]

    class Both(LocalFileIO):
        def exists(self, location: str) -> bool:
            if "/v2." in location and not taken[0]:
                taken[0] = True
                writer.append(1, base=base)
                return False
            return super().exists(location)

    racing = WarehouseCatalog("lake", str(metadata_folder.parents[2]), Both())
    with pytest.raises(CommitConflict):
        racing.commit(ORDERS, base, gzipped)
    assert [path.name for path in metadata_folder.glob("v2*")] == ["v2.metadata.json"]


def test_the_hint_does_not_bring_a_dropped_table_back(writer: Writer, tmp_path: Path) -> None:
    base = writer.create()

    class DroppedIO(LocalFileIO):
        def replace(self, location: str, data: bytes, **given: Any) -> None:
            writer.catalog.drop_table(ORDERS, purge=False)
            super().replace(location, data, **given)

    warehouse_catalog(tmp_path, DroppedIO()).commit(ORDERS, base, replace(base.metadata, properties={"a": "1"}))
    assert files_below(tmp_path) == set()
    assert not writer.catalog.table_exists(ORDERS)


def test_a_hint_does_not_go_to_another_table_of_the_name(writer: Writer, tmp_path: Path) -> None:
    base = writer.append(1, base=writer.create()).table

    class ReplacedIO(LocalFileIO):
        def replace(self, location: str, data: bytes, **given: Any) -> None:
            writer.catalog.drop_table(ORDERS, purge=False)
            writer.create()
            super().replace(location, data, **given)

    warehouse_catalog(tmp_path, ReplacedIO()).commit(ORDERS, base, replace(base.metadata, properties={"a": "1"}))
    assert writer.load().metadata_location.endswith("v1.metadata.json")


@pytest.mark.parametrize("happens", [True, False])
def test_a_drop_without_an_answer_is_looked_after(writer: Writer, tmp_path: Path, happens: bool) -> None:
    writer.create()

    class SilentIO(LocalFileIO):
        def delete_folder(self, location: str) -> None:
            if happens:
                super().delete_folder(location)
            raise TimeoutError("no answer")

    catalog = warehouse_catalog(tmp_path, SilentIO())
    if happens:
        assert catalog.drop_table(ORDERS, purge=False)
        assert not writer.catalog.table_exists(ORDERS)
    else:
        with pytest.raises(CommitStateUnknown):
            catalog.drop_table(ORDERS, purge=False)


def test_a_commit_does_not_land_in_a_table_made_anew(writer: Writer, tmp_path: Path) -> None:
    base = writer.create()

    class ReplacedIO(LocalFileIO):
        def create(self, location: str, data: bytes, **given: Any) -> None:
            look = given.pop("confirm", None)

            def look_before_the_drop() -> None:
                if look is not None:
                    look()
                    writer.catalog.drop_table(ORDERS, purge=False)
                    writer.create()

            super().create(location, data, confirm=look_before_the_drop, **given)

    slow = warehouse_catalog(tmp_path, ReplacedIO())
    with pytest.raises(NotFoundError):
        slow.commit(ORDERS, base, replace(base.metadata, properties={"a": "1"}))
    assert writer.load().metadata_location.endswith("v1.metadata.json")


def test_a_creation_whose_first_rows_went_with_another_table_is_refused(writer: Writer, tmp_path: Path) -> None:
    plan = writer.create()
    rows = AppendFiles((data_file(plan.metadata, [1]),))
    writer.catalog.drop_table(ORDERS, purge=False)
    with pytest.raises(ValidationConflict, match="files of this one with it"):
        writer.create(initial=rows)
    assert not writer.catalog.table_exists(ORDERS)


@pytest.mark.parametrize("dropped", [True, False])
def test_a_table_that_others_change_or_drop_at_once_is_made_once(writer: Writer, tmp_path: Path, dropped: bool) -> None:
    """Its creator looks at it when they have been there already; it is not in doubt, and not made again."""

    class OvertakenIO(LocalFileIO):
        def create(self, location: str, data: bytes, **given: Any) -> None:
            super().create(location, data, **given)
            if "/v1." in location:
                writer.append(1)

        def read(self, location: str) -> bytes:
            if dropped and "/v2." in location:
                writer.catalog.drop_table(ORDERS, purge=False)
            return super().read(location)

    made = Writer(warehouse_catalog(tmp_path, OvertakenIO()), seed=9).create()
    assert made.metadata_location.endswith("v1.metadata.json")
    assert writer.catalog.table_exists(ORDERS) is not dropped


@pytest.mark.parametrize("look", ["exists", "read"])
def test_an_error_after_a_version_has_landed_does_not_take_it_back(writer: Writer, tmp_path: Path, look: str) -> None:
    """The looks that come after the version has its name: at its base, or at the hint."""
    base = None if look == "read" else writer.create()
    landed = [False]

    class BrokenIO(LocalFileIO):
        def create(self, location: str, data: bytes, **given: Any) -> None:
            super().create(location, data, **given)
            landed[0] = True

        def exists(self, location: str) -> bool:
            self._fail()
            return super().exists(location)

        def read(self, location: str) -> bytes:
            self._fail()
            return super().read(location)

        def _fail(self) -> None:
            if landed[0]:
                landed[0] = False
                raise StorageError("STORAGE_FAILURE", operation="Reading", path="it", reason="broken")

    catalog = warehouse_catalog(tmp_path, BrokenIO())
    if base is None:
        made = Writer(catalog).create()
        assert writer.load().metadata.table_uuid == made.metadata.table_uuid
    else:
        with pytest.raises(CommitStateUnknown):
            catalog.commit(ORDERS, base, replace(base.metadata, properties={"a": "1"}))
        assert writer.load().metadata.properties == {"a": "1"}


def test_versions_are_trimmed_from_the_oldest_on(tmp_path: Path, metadata_folder: Path) -> None:
    """Else one that could not be deleted would look like the last of its run."""
    denied = [True]

    class DenyingIO(LocalFileIO):
        def delete(self, location: str) -> None:
            if denied[0] and location.endswith("/v1.metadata.json"):
                raise StorageError("STORAGE_FAILURE", operation="Deleting", path=location, reason="denied")
            super().delete(location)

    properties = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
    writer = Writer(warehouse_catalog(tmp_path, DenyingIO()))
    table = writer.create(properties=properties)
    for number in range(4):
        table = writer.append(number, base=table).table
    assert {path.name for path in metadata_folder.glob("v*.json")} == {f"v{n}.metadata.json" for n in range(1, 6)}
    denied[0] = False
    writer.append(4, base=table)
    assert {path.name for path in metadata_folder.glob("v*.json")} == {f"v{n}.metadata.json" for n in (5, 6)}


def test_a_custom_location_is_refused(writer: Writer, tmp_path: Path) -> None:
    base = writer.create()
    with pytest.raises(UnsupportedError, match="Leave the location out"):
        writer.catalog.commit(ORDERS, base, replace(base.metadata, location=str(tmp_path / "x")))
    with pytest.raises(UnsupportedError, match=r"write\.metadata\.path"):
        writer.catalog.commit(ORDERS, base, replace(base.metadata, properties={"write.metadata.path": "/x"}))


def test_tables_and_namespaces_are_told_apart(writer: Writer, catalog: WarehouseCatalog, tmp_path: Path) -> None:
    catalog.create_namespace(("db",), {})
    catalog.create_namespace(("db", "inner"), {"owner": "me"})
    writer.create()
    (tmp_path / "db/.hidden").mkdir()
    (tmp_path / "db/file.txt").write_text("x")

    assert catalog.list_namespaces() == (("db",),)
    assert catalog.list_namespaces(("db",)) == (("db", "inner"),)
    assert catalog.list_tables(("db",)) == (ORDERS,)
    assert catalog.load_namespace(("db",)) == {"location": f"file://{tmp_path}/db"}
    assert not catalog.namespace_exists(("db", "orders"))
    assert catalog.table_exists(ORDERS)
    assert not catalog.table_exists(TableIdentifier(("db",), "inner"))
    with pytest.raises(AlreadyExistsError):
        catalog.create_namespace(("db", "orders"), {})
    with pytest.raises(AlreadyExistsError):
        catalog.create_namespace(("db",), {})


def test_a_warehouse_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path / "none")
    assert catalog.list_namespaces() == ()
    assert not catalog.namespace_exists(("db",))
    assert not (tmp_path / "none").exists()


def test_a_namespace_keeps_no_properties(catalog: WarehouseCatalog) -> None:
    with pytest.raises(UnsupportedError, match="property colour"):
        catalog.create_namespace(("db",), {"colour": "red"})
    with pytest.raises(UnsupportedError, match="property location"):
        catalog.create_namespace(("db",), {"location": "/elsewhere"})
    assert not catalog.namespace_exists(("db",))


def test_a_namespace_is_dropped_only_when_empty(writer: Writer, catalog: WarehouseCatalog, tmp_path: Path) -> None:
    writer.create()
    with pytest.raises(AnalysisError, match=r"db\.orders") as raised:
        catalog.drop_namespace(("db",), cascade=False)
    assert raised.value.condition == "SCHEMA_NOT_EMPTY"
    assert catalog.drop_namespace(("db",), cascade=True)
    assert not catalog.drop_namespace(("db",), cascade=False)
    assert files_below(tmp_path) == set()


def test_missing_tables_and_namespaces_are_named_in_full(catalog: WarehouseCatalog) -> None:
    with pytest.raises(NotFoundError, match=r"lake\.db\.orders"):
        catalog.load_table(ORDERS)
    with pytest.raises(NotFoundError, match=r"lake\.db\.orders"):
        catalog.current_metadata_location(ORDERS)
    with pytest.raises(NotFoundError, match=r"lake\.db cannot"):
        catalog.list_tables(("db",))
    with pytest.raises(NotFoundError):
        catalog.load_namespace(("db",))
    assert not catalog.drop_table(ORDERS, purge=True)


@pytest.mark.parametrize("purge", [True, False])
def test_a_drop_removes_the_folder(writer: Writer, tmp_path: Path, purge: bool) -> None:
    writer.append(1, base=writer.create())
    assert writer.catalog.drop_table(ORDERS, purge=purge)
    assert not writer.catalog.table_exists(ORDERS)
    assert files_below(tmp_path) == set()


def test_a_purge_removes_data_elsewhere_file_by_file(writer: Writer, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    table = writer.create(properties={"write.data.path": str(shared)})
    writer.append(1, base=table)
    (shared / "of_another_table.parquet").write_text("x")
    writer.catalog.drop_table(ORDERS, purge=True)
    assert files_below(tmp_path) == {"shared/of_another_table.parquet"}


def test_files_that_others_may_use_are_not_purged(writer: Writer, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    writer.append(1, base=writer.create(properties={"write.data.path": str(shared), "gc.enabled": "false"}))
    with pytest.raises(UnsupportedError, match=r"gc\.enabled is false"):
        writer.catalog.drop_table(ORDERS, purge=True)
    assert writer.catalog.drop_namespace(("db",), cascade=True)
    assert [Path(name).suffix for name in files_below(tmp_path)] == [".parquet"]


def test_a_damaged_table_can_be_dropped(writer: Writer, metadata_folder: Path) -> None:
    writer.create()
    (metadata_folder / "v1.metadata.json").write_text("{")
    assert writer.catalog.drop_table(ORDERS, purge=True)


def test_a_link_out_of_the_warehouse_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    (warehouse / "db").symlink_to(outside)
    catalog = warehouse_catalog(warehouse)
    for refused in (lambda: catalog.load_table(ORDERS), lambda: catalog.drop_table(ORDERS, purge=True)):
        with pytest.raises(AnalysisError) as raised:
            refused()
        assert raised.value.condition == "PATH_OUTSIDE_WAREHOUSE"


def test_a_table_cannot_lie_inside_a_table(writer: Writer) -> None:
    writer.create()
    inner = TableIdentifier(("db", "orders"), "inner")
    metadata = replace(writer.load().metadata, location=writer.catalog.default_table_location(inner))
    with pytest.raises(AlreadyExistsError):
        writer.catalog.commit(inner, None, metadata)


def test_a_table_is_loaded_by_its_folder_or_its_file(writer: Writer, tmp_path: Path) -> None:
    io = LocalFileIO()
    first = writer.create()
    second = writer.append(1, base=first).table
    folder = str(tmp_path / "db/orders")
    assert load_static_table(folder, io).metadata == second.metadata
    assert load_static_table(folder + "/", io).metadata_location == second.metadata_location
    assert load_static_table(first.metadata_location, io).metadata == first.metadata
    assert load_static_table(folder, io).identifier.name == "orders"


def test_a_folder_of_another_catalog_is_loaded_by_its_highest_number(writer: Writer, metadata_folder: Path) -> None:
    writer.append(1, base=writer.create())
    for number in (1, 2):
        source = metadata_folder / f"v{number}.metadata.json"
        source.rename(metadata_folder / f"{number:05}-{uuid.uuid4()}.metadata.json")
    (metadata_folder / "version-hint.text").unlink()
    loaded = load_static_table(str(metadata_folder.parent), LocalFileIO())
    assert len(loaded.metadata.snapshots) == 1


def test_a_folder_without_a_table_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / "v1.metadata.json"):
        with pytest.raises(NotFoundError) as raised:
            load_static_table(str(path), LocalFileIO())
        assert raised.value.condition == "NO_TABLE_AT_LOCATION"


def test_a_relative_warehouse_counts_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = Writer(WarehouseCatalog("lake", "./warehouse", LocalFileIO()))
    table = writer.create()
    monkeypatch.chdir("/")
    file = data_file(table.metadata, [1])
    assert ids_read_by_pyiceberg(writer.commit(AppendFiles((file,)), base=table).table) == [1]
    assert table.metadata.location == f"file://{tmp_path}/warehouse/db/orders"
