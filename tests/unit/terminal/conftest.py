"""A warehouse with a few tables, and a command line for it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from unit.command.lake import Lake
from unit.terminal.command_line import CommandLine


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """`db.orders` has a key, partitions, four data files, an equality delete and a deletion vector; `db.empty` has no
    snapshot."""
    lake = Lake(tmp_path / "warehouse")
    lake.create(
        "CREATE TABLE orders (id BIGINT NOT NULL COMMENT 'unique', who STRING, amount DECIMAL(9,2), day DATE,"
        " tags ARRAY<STRING>, PRIMARY KEY (id, day)) PARTITIONED BY (day) TBLPROPERTIES ('format-version'='3')"
    )
    for number in range(2):
        lake.append(
            "orders",
            id=[10 * number, 10 * number + 1],
            who=["ada", None],
            amount=[Decimal("1.50"), Decimal("2")],
            day=[datetime.date(2026, 1, 1 + number)] * 2,
            tags=[["a", "b"], []],
        )
        lake.clock.sleep(3600)
    first = next(file.file_path for file in lake.files("orders"))
    lake.delete({first: [1]}, "orders")
    lake.create("CREATE TABLE empty (id BIGINT)")
    return lake


@pytest.fixture
def run(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys, str(tmp_path / "warehouse"))
