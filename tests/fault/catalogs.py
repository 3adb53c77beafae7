"""The catalogs on which processes are killed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

CATALOGS = ("folder", "sqlite", "postgres")


def catalog_options(catalog: str, folder: Path, request: pytest.FixtureRequest) -> Mapping[str, str]:
    """The settings of a new one, whose files are below `folder`."""
    options = {"warehouse": str(folder / "warehouse")}
    if catalog == "sqlite":
        options |= {"type": "jdbc", "uri": f"jdbc:sqlite:{folder}/catalog.db"}
    if catalog == "postgres":
        options |= {"type": "jdbc", **request.getfixturevalue("postgres").new_database()}
    return options
