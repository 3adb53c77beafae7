"""A canary for every secret of a catalog's settings: it is in nothing that is written, shown or logged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CANARY = "k4n4rienvogel"
_CONDITIONS = (
    "CAST_OVERFLOW_IN_TABLE_INSERT",
    "SECRET_TABLE_PROPERTY",
    "CATALOG_UNREACHABLE",
    "CATALOG_OPTION_REFUSED",
)
PROCESS = Path(__file__).with_name("secretive_process.py")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """All that the session has left behind, by the name of a file, and its output."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "events").mkdir()
    done = subprocess.run(
        [sys.executable, str(PROCESS), str(folder), CANARY], capture_output=True, timeout=400, check=False
    )
    assert done.stdout.endswith(b"ended\n"), done.stderr[-3000:]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {**files, "stdout": done.stdout, "stderr": done.stderr}


def test_no_secret_is_written_shown_or_logged(left: dict[str, bytes]) -> None:
    assert [name for name, data in left.items() if CANARY.encode() in data] == []


def test_the_session_has_done_what_it_was_to_do(left: dict[str, bytes]) -> None:
    """So that there was something to be found in."""
    said = left["stdout"].decode()
    for condition in _CONDITIONS:
        assert condition in said
    assert said.count("num_affected_rows") >= 2
    assert any(name.startswith("events/") and data for name, data in left.items())
    for warehouse in ("warehouse", "base"):
        assert any(name.startswith(f"{warehouse}/db/t/metadata/") for name in left)
    assert "catalog.db" in left


def test_what_looks_like_a_secret_is_refused_in_tables_and_views(left: dict[str, bytes]) -> None:
    assert left["stdout"].decode().count("[SECRET_TABLE_PROPERTY]") == 2 * 2
