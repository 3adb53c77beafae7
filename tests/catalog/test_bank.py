"""The bank on each kind of catalog: whatever is killed, no money is lost and none is made."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from catalog.bank import ACCOUNTS, DEPOSIT, Opener, open_bank, open_hasty, run_bank
from sqlext.catalog.catalog_settings import open_catalog


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param == "folder":
        return partial(open_hasty, tmp_path)
    options = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
    if request.param == "postgres":
        options |= request.getfixturevalue("postgres").new_database()
    return partial(open_catalog, "lake", options)


def test_no_money_is_lost_and_none_is_made(opener: Opener, tmp_path: Path) -> None:
    open_bank(opener())
    run = run_bank(opener, tmp_path, writers=4, transfers=20, kills=4, seed=1)
    assert sum(run.balances) == DEPOSIT * len(ACCOUNTS)
    assert run.acknowledged >= 4 * 20
    assert run.killed > 0
