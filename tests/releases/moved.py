"""The archive of a release, unpacked anywhere: what names its folder names the new one."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from golden_tables.relocation import relocate


def unpack(archive: Path, target: Path, scratch: Path) -> dict[str, Any]:
    """Unpacks to `target`, and returns the archive's index: `answers`, with what each query gave."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(scratch)
    source = scratch / archive.stem
    prefix = json.loads((source / "index.json").read_text())["prefix"]
    relocate(source, target)
    _move_database(target / "base.sqlite", prefix, str(target))
    for path in (target / "checkpoints").rglob("*"):
        if path.is_file():
            path.write_text(path.read_text().replace(prefix, str(target)))
    index: dict[str, Any] = json.loads((target / "index.json").read_text())
    return index


def _move_database(path: Path, old: str, new: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for _, column, *_ in database.execute(f'PRAGMA table_info("{table}")').fetchall():
                database.execute(f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?)', (old, new))
