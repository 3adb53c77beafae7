"""Which tables store what they are given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.command.upsert.input_changelog import stores_input
from unit.command.lake import Lake


@pytest.mark.parametrize(("producer", "stores"), [("input", True), ("lookup", False), ("none", False)])
def test_by_the_producer_of_the_table(tmp_path: Path, producer: str, stores: bool) -> None:
    lake = Lake(tmp_path)
    lake.create(f"CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='{producer}')")
    target = lake.target()
    assert stores_input(target) is stores
    # A staged snapshot may never be published.
    assert not stores_input(replace(target, destination=replace(target.destination, wap_id="w")))
