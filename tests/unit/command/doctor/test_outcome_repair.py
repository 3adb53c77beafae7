"""Damaged outcomes of transactions: a table says so, where it went back to the version before, and is mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.scan.checks.finding import Check
from sqlext.storage.file_io import LocalFileIO
from unit.command.lake import NAMESPACE, Lake, refused


def committed(folder: Path) -> Lake:
    """Two tables that one transaction has changed."""
    lake = Lake(folder)
    for name in ("t", "u"):
        lake.create(f"CREATE TABLE {name} (id BIGINT)")
    lake.catalog.commit_tables([_changed(lake.load("t")), _changed(lake.load("u"))])
    return lake


def _changed(table: LoadedTable) -> TableCommit:
    updated = replace(table.metadata, properties={**table.metadata.properties, "a": "1"})
    return TableCommit(table.identifier, table, updated)


def outcome(folder: Path) -> Path:
    (found,) = (folder / ".transactions").iterdir()
    return found


def fsck(lake: Lake, repair: Repairing = Repairing.NOTHING, table: str = "t") -> Sequence[Answer]:
    return consult(lake.environment, "lake", TableIdentifier(NAMESPACE, table), repair)


def value(folder: Path) -> str | None:
    """As another process reads it."""
    table = WarehouseCatalog("lake", str(folder), LocalFileIO()).load_table(TableIdentifier(NAMESPACE, "t"))
    return table.metadata.properties.get("a")


@pytest.mark.parametrize("bit", range(10 * 8))
def test_a_flipped_bit_of_an_outcome_loses_no_commit(tmp_path: Path, bit: int) -> None:
    lake = committed(tmp_path)
    file = outcome(tmp_path)
    data = file.read_bytes()
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    file.write_bytes(damaged)
    with refused("CORRUPT_FILE"):
        value(tmp_path)
    (found,) = fsck(lake)
    assert found.finding.check == Check.UNREADABLE
    (done,) = fsck(lake, Repairing.DAMAGE)
    assert "nothing is lost" in done.repair
    assert file.read_bytes() == data
    assert value(tmp_path) == "1"
    assert fsck(lake) == fsck(lake, table="u") == []


@pytest.mark.parametrize("repair", [Repairing.DAMAGE, Repairing.FROM_FILES])
def test_an_outcome_of_other_bytes_is_left(tmp_path: Path, repair: Repairing) -> None:
    lake = committed(tmp_path)
    file = outcome(tmp_path)
    file.write_bytes(b"xx")
    (done,) = fsck(lake, repair)
    assert "not done" in done.repair
    file.write_bytes(b"committed")
    assert value(tmp_path) == "1"


def test_a_flipped_bit_of_an_abort(tmp_path: Path) -> None:
    lake = committed(tmp_path)
    file = outcome(tmp_path)
    file.write_bytes(b"abortee")
    fsck(lake, Repairing.DAMAGE)
    assert file.read_bytes() == b"aborted"
    assert value(tmp_path) is None
