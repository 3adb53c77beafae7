"""What docs/local.md, README.md and the docstrings of `sqlext.local` show is run."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from sqlext.local import local_catalog, local_table

_ROOT = Path(__file__).resolve().parents[3]
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(("page", "within"), [("docs/local.md", ""), ("README.md", "## Without a JVM")])
def test_examples_of_pages_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, within: str) -> None:
    monkeypatch.chdir(tmp_path)
    text = (_ROOT / page).read_text()
    part = text[text.index(within) :] if within else text
    part = part if not within else part[: part.index("\n## ", 1)]
    blocks = _BLOCK.findall(part)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("module", [local_catalog, local_table])
def test_examples_of_docstrings_run(tmp_path: Path, module: object) -> None:
    finder, found = doctest.DocTestFinder(), 0
    for number, test in enumerate(finder.find(module)):
        folder = tmp_path / str(number)
        if test.name.endswith("LocalTable"):
            import sqlext.local

            lake = sqlext.local.open(folder)
            assert isinstance(lake, sqlext.local.LocalCatalog)
            lake.create_namespace("db")
        test.globs |= {"folder": str(folder), "pa": pa}
        results = doctest.DocTestRunner().run(test)
        assert not results.failed
        found += results.attempted
    assert found


def test_no_jvm_is_needed(tmp_path: Path) -> None:
    """In a process that finds no Java."""
    script = (
        "import sqlext.local; lake = sqlext.local.open('w'); lake.create_namespace('db');"
        " t = lake.create_table('CREATE TABLE db.t (id INT, PRIMARY KEY (id))'); t.upsert([{'id': 1}]);"
        " print(t.to_arrow().num_rows)"
    )
    environment = {**os.environ, "PATH": "", "JAVA_HOME": str(tmp_path / "none"), "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
