"""The classes of Spark that the shim imports, and the versions that have them: `docs/spark-classes.md`.

`python3 tests/matrix/run.py --classes` writes it, from the jars of the newest release of each version.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import sparks

from sqlext.spark.shim.supported_spark import MINORS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "spark-classes.md"
SHIM = ROOT / "jvm-shim"
_IMPORT = re.compile(r"^import (org\.apache\.spark[\w.]*)\.(\w+|\{[^}]*\}|_)$", re.MULTILINE)
_FOR_CONNECTORS = re.compile(
    r"org\.apache\.spark\.(api|sql\.(connector|sources|types|streaming|util|vectorized)\b|sql\.\w+$|\w+$)"
)
_OURS = re.compile(r"org\.apache\.spark\.sql\.(sqlext\.|.*\.Sqlext\w+$)")


def imported(path: Path) -> Iterator[str]:
    """Full names of the classes and objects of Spark that a file imports; a whole package ends in `._`."""
    for package, names in _IMPORT.findall(path.read_text()):
        for name in names.strip("{}").split(","):
            yield f"{package}.{name.partition('=>')[0].strip()}"


def is_internal(name: str) -> bool:
    """Whether the class may change from one minor version to the next: it is in none of the packages for connectors."""
    return _FOR_CONNECTORS.match(name) is None and _OURS.match(name) is None


def users() -> Mapping[str, list[str]]:
    """The files of the shim that import each internal class, by its name."""
    found: dict[str, list[str]] = {}
    for path in sorted(SHIM.rglob("*.scala")):
        for name in filter(is_internal, imported(path)):
            found.setdefault(name, []).append(path.relative_to(SHIM).as_posix())
    return dict(sorted(found.items()))


def classes_of(minor: str) -> Set[str]:
    """All classes of Spark's own jars of a version."""
    found: set[str] = set()
    for jar in Path(sparks.jars(minor)).glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            names = (name for name in archive.namelist() if name.endswith(".class"))
            found.update(name.removesuffix(".class").removesuffix("$").replace("/", ".") for name in names)
    return found


def document() -> str:
    """The text of the document."""
    known = {minor: classes_of(minor) for minor in MINORS}
    lines = [
        "# Classes of Spark that the shim uses",
        "",
        "These are none of Spark's interfaces for connectors, and may change in any minor version. A version with `-`",
        "has no such class, and is given other files. `python3 tests/matrix/run.py --classes` writes this document.",
        "",
        f"| class | {' | '.join(MINORS)} | used in |",
        f"|---|{'---|' * len(MINORS)}---|",
    ]
    for name, files in users().items():
        has = ["x" if name.endswith("._") or _is_known(name, known[minor]) else "-" for minor in MINORS]
        lines.append(f"| `{name}` | {' | '.join(has)} | {', '.join(files)} |")
    return "\n".join(lines) + "\n"


def _is_known(name: str, classes: Set[str]) -> bool:
    """Whether there is a class of the name, a nested one, or one that holds it as a value or a function."""
    parts = name.split(".")
    nested = {".".join(parts[:at]) + "".join(f"${part}" for part in parts[at:]) for at in range(1, len(parts) + 1)}
    holders = {one.rpartition("$")[0] for one in nested}
    if parts[-1][0].islower():  # a function of a package
        holders.add(".".join([*parts[:-1], "package"]))
    return bool((nested | holders) & classes)
