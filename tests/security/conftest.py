"""Catalogs of each kind over a folder beside which lie files that are none of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.s3_server import S3Server
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog

SECRET_TEXT = b"not yours"


@dataclass(frozen=True)
class Place:
    """A folder with the warehouse of a catalog, and with other things."""

    folder: Path
    kind: str

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    def open(self, **options: str) -> Catalog:
        given = {"warehouse": str(self.warehouse), **{name.replace("_", "-"): text for name, text in options.items()}}
        if self.kind == "database":
            given |= {"type": "jdbc", "uri": f"jdbc:sqlite:{self.folder}/catalog.db"}
        return open_catalog("lake", given)

    def others(self) -> dict[str, bytes]:
        """All files but those of the warehouse and its database."""
        found = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_relative_to(self.warehouse))
        return {str(path): path.read_bytes() for path in found if not path.name.startswith("catalog.db")}


@pytest.fixture(params=["folders", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    made = Place(tmp_path, request.param)
    made.warehouse.mkdir()
    for name in ("outside/a.parquet", "outside/metadata/v1.metadata.json", "escaped/x", "etc/passwd", "db/x", "x"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(SECRET_TEXT)
    return made


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()
