"""Each notebook runs in any folder, where its own assertions check the story, and is stored with what it shows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from notebooks.notebook_run import NAMES, NOTEBOOKS, code_cells, executed, stored

ROOT = NOTEBOOKS.parent


def _shown(notebook: NotebookNode) -> Iterator[tuple[str, list[str]]]:
    """The source of each cell of code, with the kinds of what it shows."""
    for cell in code_cells(notebook):
        outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        yield cell.source, [kind for one in outputs for kind in sorted(one.get("data", {"stream": ""}))]


@pytest.mark.turns(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_in_any_folder(tmp_path: Path, name: str) -> None:
    """What it shows is of the kinds that are stored; `tests/notebooks/run.py` stores it anew. Before its end
    the first cell is run again, as people do, and begins anew with a lake of its own."""
    notebook = stored(name)
    first, last = code_cells(notebook)[0], code_cells(notebook)[-1]
    assert last.source.endswith("spark.stop()")
    again = f"{first.source}\nspark.sql('SHOW NAMESPACES IN lake').collect()\nspark.stop()"
    last.source = last.source.removesuffix("spark.stop()") + again
    shown = list(_shown(executed(notebook, tmp_path)))
    assert shown[:-1] == list(_shown(stored(name)))[:-1]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_tells_nothing_of_the_machine(name: str) -> None:
    notebook = stored(name)
    assert any(kinds for _, kinds in _shown(notebook))
    assert all(one.get("name") != "stderr" for cell in notebook.cells for one in cell.get("outputs", []))
    text = (NOTEBOOKS / f"{name}.ipynb").read_text()
    images = re.sub(r'"image/png": "[^"]*"', "", text)
    assert not re.search(r"/(tmp|home|root|work|Users)/", images)


def test_files_of_a_feed_come_in_their_order(tmp_path: Path) -> None:
    """Spark takes files by their times in milliseconds, and those of one time in any order."""
    feed = next(cell.source for cell in code_cells(stored("change_data_capture")) if "def write_moments" in cell.source)
    exec(feed.replace("write_moments(0, 20)", "write_moments(0, 40, 1)"), {"folder": str(tmp_path)})
    times = [file.stat().st_mtime_ns // 1_000_000 for file in sorted((tmp_path / "feed").iterdir())]
    assert len(times) == 40
    assert times == sorted(set(times))


def _program(name: str) -> str:
    """All code of a notebook."""
    return "\n\n".join(cell.source for cell in code_cells(stored(name)))


def test_the_page_names_the_packages_that_notebooks_import() -> None:
    page = (ROOT / "docs" / "first-steps.md").read_text()
    told = re.findall(r"[\w.=]+", re.findall(r"-m pip install (.*?)\n\.venv", page, re.DOTALL)[0])
    imported = {
        module.partition(".")[0]
        for name in NAMES
        for node in ast.walk(ast.parse(_program(name)))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    there = {*sys.stdlib_module_names, "sqlext", "pyspark", "polars"}
    assert imported - there <= {package.partition("==")[0] for package in told}
    # The tests run them with the same versions.
    project = (ROOT / "pyproject.toml").read_text()
    assert [one for one in told if "==" in one and f'"{one}"' not in project] == []


def test_notebooks_use_nothing_that_the_oldest_python_lacks(tmp_path: Path) -> None:
    names = [*NAMES, "newer"]
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(_program(name))
    (tmp_path / "newer.py").write_text("from datetime import UTC")
    options = ["--python-version", "3.10", "--follow-imports", "skip", "--ignore-missing-imports"]
    command = [sys.executable, "-m", "mypy", "--config-file", "", "--cache-dir", str(tmp_path / "cache"), *options]
    files = [f"{name}.py" for name in names]
    done = subprocess.run([*command, *files], cwd=tmp_path, capture_output=True, text=True, check=False)
    told = done.stdout.splitlines()
    assert f"checked {len(files)} source files" in told[-1], done.stdout + done.stderr
    lacking = [line for line in told if re.search(r"Module \"\w+\" has no attribute|\[syntax\]", line)]
    assert [line.partition(":")[0] for line in lacking] == ["newer.py"], lacking


def test_nothing_is_written_to_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may be read-only: IPython, Jupyter and matplotlib keep what they keep in folders of the clone."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    cell = "import os\nfrom matplotlib.figure import Figure\nFigure().savefig('a.png')\nos.environ['HOME']"
    notebook = executed(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), folder)
    assert str(home) in notebook.cells[0].outputs[0].data["text/plain"]
    assert (folder / "a.png").exists()
    assert list(home.rglob("*")) == []
