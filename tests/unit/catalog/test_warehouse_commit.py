"""Versions of a table in a warehouse folder: their files, the hint, who makes the next one, and damage."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
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
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.errors import (
    CommitConflict,
    CommitStateUnknown,
    CorruptionError,
    NotFoundError,
    StorageError,
    ValidationConflict,
)
from sqlext.spec.metadata.snapshot import MetadataLogEntry
from sqlext.storage.file_io import FileStatus, LocalFileIO


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


def test_a_log_that_was_taken_over_does_not_trim_the_versions_here(writer: Writer, metadata_folder: Path) -> None:
    """Its numbers are larger than those that the table counts from here on."""
    asked = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "3"}
    made = writer.create(properties=asked)
    log = tuple(MetadataLogEntry(number, f"file:///gone/v{number}.metadata.json") for number in (2, 3, 4))
    taken_over = replace(made.metadata, metadata_log=log)
    writer.catalog.drop_table(ORDERS, purge=False)
    table = writer.catalog.commit(ORDERS, None, taken_over)
    for number in range(6):
        table = writer.append(number, base=table).table
        assert writer.load().metadata == table.metadata
    assert sorted(path.name for path in metadata_folder.glob("v*.json")) == [
        f"v{n}.metadata.json" for n in (4, 5, 6, 7)
    ]


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
        def delete(self, location: str, **given: Any) -> None:
            if denied[0] and location.endswith("/v1.metadata.json"):
                raise StorageError("STORAGE_FAILURE", operation="Deleting", path=location, reason="denied")
            super().delete(location, **given)

    properties = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
    writer = Writer(warehouse_catalog(tmp_path, DenyingIO()))
    table = writer.create(properties=properties)
    for number in range(4):
        table = writer.append(number, base=table).table
    assert {path.name for path in metadata_folder.glob("v*.json")} == {f"v{n}.metadata.json" for n in range(1, 6)}
    denied[0] = False
    writer.append(4, base=table)
    assert {path.name for path in metadata_folder.glob("v*.json")} == {f"v{n}.metadata.json" for n in (5, 6)}


@pytest.mark.parametrize("kept", [30, 1])
def test_a_commit_lists_the_folder_only_if_many_versions_are_old(
    tmp_path: Path, metadata_folder: Path, kept: int
) -> None:
    """A history that shrinks leaves a version or two with each commit, in a folder that may have thousands of files."""
    lists = 0

    class ListingIO(LocalFileIO):
        def list(self, prefix: str) -> Iterator[FileStatus]:
            nonlocal lists
            lists += 1
            return super().list(prefix)

    most, enabled = "write.metadata.previous-versions-max", "write.metadata.delete-after-commit.enabled"
    writer = Writer(warehouse_catalog(tmp_path, ListingIO()))
    table = writer.create(properties={most: "32", enabled: "true"})
    for number in range(32):
        table = writer.append(number, base=table).table
    before = lists
    writer.commit(ChangeProperties({most: str(kept)}), base=table)
    versions = sorted(int(path.name[1:].partition(".")[0]) for path in metadata_folder.glob("v*.json"))
    assert versions == list(range(34 - kept, 35))
    assert (lists > before) == (kept == 1)
