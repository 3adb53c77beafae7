"""The metadata files of the tables that Iceberg 1.12 wrote (tests/golden_tables)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zipfile import ZipFile

_ARCHIVES = Path(__file__).parents[2] / "golden_tables"
_PREFIX = "/tmp/golden/"


@cache
def files() -> dict[str, bytes]:
    """Every metadata file, manifest list and manifest by its location in the archives."""
    found: dict[str, bytes] = {}
    for archive in sorted(_ARCHIVES.glob("golden*_dev.zip")):
        with ZipFile(archive) as zipped:
            for name in zipped.namelist():
                if "/metadata/" in name and name.endswith((".json", ".avro")):
                    found[name] = zipped.read(name)
    return found


def metadata_files() -> Iterator[tuple[str, bytes]]:
    return ((name, data) for name, data in files().items() if name.endswith(".metadata.json"))


def read(location: str) -> bytes | None:
    """The bytes of a metadata file by its location; None for a file that was expired."""
    name = location.removeprefix("file:").removeprefix("//")
    for strip in (_PREFIX, _PREFIX + "flink/", "/"):
        if name.startswith(strip) and name.removeprefix(strip) in files():
            return files()[name.removeprefix(strip)]
    return next((data for known, data in files().items() if name.endswith("/" + known.split("/", 1)[1])), None)
