"""Damaged changelogs: what is found, and that their changes are computed after a repair."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.command.doctor.examination import examine
from sqlext.command.doctor.repair import turn_back_bits
from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.spec.metadata.stored_changelog import FOLDER, StoredChangelog
from sqlext.spec.metadata.table_metadata import encode_table_metadata
from sqlext.storage.location import to_local_path
from unit.command.lake import NAMESPACE, Lake

CREATE = (
    "CREATE TABLE `a.b` (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup',"
    " 'format-version'='{}')"
)
TABLE = "a.b"


def changed(folder: Path, version: int = 2) -> Lake:
    """A table, whose name has a dot, with the changelogs of two deletes."""
    lake = Lake(folder)
    lake.create(CREATE.format(version))
    lake.append(TABLE, id=[1, 2, 3, 4])
    path = lake.files(TABLE)[0].file_path
    lake.delete({path: [0]}, TABLE)
    lake.delete({path: [1, 2]}, TABLE)
    return lake


def fsck(lake: Lake, repair: Repairing = Repairing.NOTHING, **given: bool) -> Sequence[Answer]:
    return consult(lake.environment, "lake", TableIdentifier(NAMESPACE, TABLE), repair, **given)


def errors(answers: Sequence[Answer]) -> list[str]:
    return sorted({one.finding.check.value for one in answers if one.finding.severity == Severity.ERROR})


def changelog(lake: Lake) -> list[Path]:
    """The files of the newest changelog: its manifest list, its manifest, and its data file."""
    metadata = lake.load(TABLE).metadata
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    stored = StoredChangelog.of(snapshot)
    assert stored is not None
    folder = Path(to_local_path(metadata.location), FOLDER)
    found = [*folder.glob(f"snap-{stored.id}.avro"), *folder.glob(f"{stored.id}-m0.avro")]
    own = [file for file in folder.rglob("*.parquet") if stored.id in file.name]
    assert len(found) == 2
    assert len(own) == 1
    return [*found, *own]


@pytest.mark.parametrize("version", [2, 3])
def test_changelogs_are_healthy(tmp_path: Path, version: int) -> None:
    assert fsck(changed(tmp_path, version), data_files=True) == []


def lose(file: Path) -> None:
    file.unlink()


def scramble(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:20] + bytes(byte ^ 0x5A for byte in data[20:60]) + data[60:])


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


@pytest.mark.parametrize("way", [lose, scramble, cut])
@pytest.mark.parametrize("place", range(3))
def test_a_damaged_changelog_gives_way_to_computed_changes(
    tmp_path: Path, place: int, way: Callable[[Path], None]
) -> None:
    lake = changed(tmp_path)
    rows, listed, file = lake.rows(TABLE), changelog(lake)[0], changelog(lake)[place]
    way(file)
    if (place, way) == (2, scramble):
        # Of its size: only `check => 'files'` opens it.
        return
    if (place, way) == (0, lose):
        (one,) = fsck(lake)
        assert (one.finding.severity, one.repair) == (Severity.NOTICE, "none needed: its changes are computed")
        return
    assert set(errors(fsck(lake))) <= {"missing", "unreadable", "size", "checksum"}
    assert errors(fsck(lake))
    assert {one.repair for one in fsck(lake)} == {"repair => true"}
    done = fsck(lake, Repairing.DAMAGE)
    assert all("the changes are computed; nothing is lost" in one.repair for one in done), done
    assert not listed.exists()
    assert errors(fsck(lake)) == []
    assert lake.rows(TABLE) == rows


def test_one_bit_of_a_changelog_is_turned_back(tmp_path: Path) -> None:
    lake = changed(tmp_path)
    for file in changelog(lake)[:2]:
        data = file.read_bytes()
        for bit in range(5, 8 * len(data), 1009):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            file.write_bytes(damaged)
            assert errors(fsck(lake)), (file.name, bit)
            assert "nothing is lost" in fsck(lake, Repairing.DAMAGE)[0].repair
            assert file.read_bytes() == data, (file.name, bit)


def test_rows_of_a_changelog_are_counted_if_asked(tmp_path: Path) -> None:
    lake = changed(tmp_path)
    newest = changelog(lake)[2]
    (first, *_) = sorted(file for file in newest.parent.glob("*.parquet") if file != newest)
    shutil.copy(first, newest)
    found = {one.finding.check.value: one.finding.found for one in fsck(lake, data_files=True)}
    assert found["count"] == "1 rows"


def test_a_changelog_that_cannot_be_computed_stays(tmp_path: Path) -> None:
    lake = changed(tmp_path)
    metadata = lake.load(TABLE).metadata
    lake.expire(*(one.snapshot_id for one in metadata.snapshots[:-1]), table=TABLE)
    listed, manifest, _ = changelog(lake)
    lose(manifest)
    (done,) = fsck(lake, Repairing.DAMAGE)
    assert "not done" in done.repair
    assert listed.exists()


def test_a_summary_that_names_no_changelog_is_told(tmp_path: Path) -> None:
    lake = changed(tmp_path)
    table = lake.load(TABLE)
    (*others, last) = table.metadata.snapshots
    told = replace(last, summary={**last.summary, "sqlext.changelog": "../x"})
    edited = encode_table_metadata(replace(table.metadata, snapshots=(*others, told)))
    Path(to_local_path(table.metadata_location)).write_bytes(edited)
    (found,) = fsck(lake)
    assert (found.finding.check.value, found.finding.snapshot_id) == ("reference", last.snapshot_id)


@pytest.mark.parametrize("path", ["{folder}\0m0.avro", "hdfs://elsewhere/m0.avro", "{folder}/gone-m0.avro"])
def test_a_place_that_damage_has_made_up_has_nothing_to_mend(tmp_path: Path, path: str) -> None:
    """One bit of the object that names a manifest changes its path too."""
    lake = changed(tmp_path)
    found = examine(lake.catalog, TableIdentifier(NAMESPACE, TABLE))
    place = path.format(folder=f"{lake.load(TABLE).metadata.location}/{FOLDER}")
    unreadable = Finding(Check.UNREADABLE, place, "nothing", "a manifest")
    assert list(turn_back_bits(lake.catalog, replace(found, findings=(unreadable,)))) == []
