"""Running a notebook of `notebooks`, from whatever folder."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def stored(name: str) -> NotebookNode:
    """The notebook as it is stored, with its outputs."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Its cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """The notebook after a run in `folder`. Raises CellExecutionError for the first cell that fails."""
    client = NotebookClient(notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return notebook
