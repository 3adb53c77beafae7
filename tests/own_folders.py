"""The folders in which programs that tests use keep settings and state: of this clone, not of its user's home.

So that tests run with a home folder that is read-only, and leave nothing in one that is not.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "build" / "settings"
NAMES = {
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "jupyter",
    "JUPYTER_DATA_DIR": "jupyter",
    "JUPYTER_RUNTIME_DIR": "jupyter-runtime",
    "MPLCONFIGDIR": "matplotlib",
}


def use_own_folders() -> None:
    """Names the folders to this process and those that it starts, before anything looks for them."""
    for variable, name in NAMES.items():
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(folder)
