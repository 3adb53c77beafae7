"""Runs the notebooks and stores their outputs in them: `python3 tests/notebooks/run.py [name …]`."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

import tempfile
from pathlib import Path

import nbformat

from notebooks.notebook_run import NAMES, NOTEBOOKS, executed, stored
from own_folders import use_own_folders


def main(names: list[str]) -> None:
    use_own_folders()
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(stored(name), Path(folder))
        for cell in notebook.cells:
            # What Spark's JVM says at its start is of the machine.
            cell.get("outputs", [])[:] = [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]
        # So is the folder in which a notebook makes its warehouse, which a picture of a table tells.
        text = nbformat.writes(notebook).replace(tempfile.gettempdir(), "/…")
        (NOTEBOOKS / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
