"""Each notebook runs in any folder, where its own assertions check the story, and is stored with what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode

from notebooks.notebook_run import NAMES, NOTEBOOKS, executed, stored


def _shown(notebook: NotebookNode) -> Iterator[tuple[str, list[str]]]:
    """The source of each cell of code, with the kinds of what it shows."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            yield cell.source, [kind for one in outputs for kind in sorted(one.get("data", {"stream": ""}))]


@pytest.mark.turns(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_in_any_folder(tmp_path: Path, name: str) -> None:
    """What it shows is of the kinds that are stored; `tests/notebooks/run.py` stores it anew."""
    assert list(_shown(executed(name, tmp_path))) == list(_shown(stored(name)))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_tells_nothing_of_the_machine(name: str) -> None:
    notebook = stored(name)
    assert any(kinds for _, kinds in _shown(notebook))
    assert all(one.get("name") != "stderr" for cell in notebook.cells for one in cell.get("outputs", []))
    text = (NOTEBOOKS / f"{name}.ipynb").read_text()
    images = re.sub(r'"image/png": "[^"]*"', "", text)
    assert not re.search(r"/(tmp|home|root|work|Users)/", images)
