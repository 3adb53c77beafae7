"""The lowest version of each dependency, as pyproject.toml names it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
_BOUND = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)")


def lower_bounds() -> tuple[str, ...]:
    """Of each package but PySpark, such as `pyarrow==15`. Raises ValueError for one that has no lower bound."""
    bounds = []
    for dependency in tomllib.loads(PROJECT.read_text())["project"]["dependencies"]:
        bound = _BOUND.match(dependency)
        if bound is None:
            raise ValueError(f"{dependency} has no lower bound")
        if bound[1] != "pyspark":
            bounds.append(f"{bound[1]}=={bound[2]}")
    return tuple(bounds)
