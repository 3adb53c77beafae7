"""Locations of new files, as PyIceberg's location providers give them."""

from __future__ import annotations

import pytest
from pyiceberg.table.locations import load_location_provider

from sqlext.write.file_layout import FileLayout


@pytest.mark.parametrize("partitioned", ["true", "false"])
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_locations_are_icebergs(enabled: str, partitioned: str) -> None:
    properties = {
        "write.object-storage.enabled": enabled,
        "write.object-storage.partitioned-paths": partitioned,
    }
    provider = load_location_provider("file:///w/t", properties)
    layout = FileLayout.from_properties(properties)
    for name in ("a", "00000-1-0b5f6c1e-00001.parquet", "žluť 🐎", "x" * 300):
        assert layout.location("file:///w/t/data", "", name) == provider.new_data_location(name)


def test_a_partition_is_part_of_the_path_that_is_hashed() -> None:
    provider = load_location_provider("file:///w/t", {"write.object-storage.enabled": "true"})
    hashed = FileLayout(object_storage=True).location("file:///w/t/data", "day=2024-01-31", "f.parquet")
    assert hashed == provider.new_data_location("day=2024-01-31/f.parquet")
    plain = FileLayout(object_storage=True, partitioned_paths=False).location("file:///w/t/data", "day=1", "f.parquet")
    assert "day" not in plain
    assert FileLayout().location("file:///w/t/data", "day=1", "f") == "file:///w/t/data/day=1/f"
