"""Pythons for executors: all packages of this one but sqlext, and but those that are named."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path


def worker_python(folder: Path, *lacking: str) -> Path:
    """A Python in `folder` with links to this one's packages; its paths are not read from `.pth` files of theirs."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = folder / "packages"
    packages.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        name = entry.name.lower().replace("-", "_")
        if entry.suffix != ".pth" and not name.startswith(("sqlext", "_sqlext", *lacking)):
            (packages / entry.name).symlink_to(entry)
    own = next((folder / "lib").glob("python3*")) / "site-packages"
    (own / "linked.pth").write_text(str(packages))
    return folder / "bin" / "python"
