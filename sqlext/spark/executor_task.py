"""Python tasks on their way to executors.

Executors of a local session have the driver's Python. Those of other machines get the package itself with the first
task, as a broadcast: a file of the application (`addPyFile`) does not reach the sessions of Spark Connect. Its
dependencies are not sent; a worker looks for them before it reads a task, so that a missing one is told by its name.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyspark import Broadcast, SparkContext, cloudpickle

from sqlext.spark import worker

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = "_sqlext_package"
_IN_TASKS = ("fastavro", "mmh3", "numpy", "polars", "pyarrow", "pyiceberg-core", "pyroaring")
_MINIMUM = re.compile(r"([\w-]+)>=([\d.]+)$")
# An exception's text has source lines too, with braces.
_LACKS = re.compile(r"sqlext's task lacks (?P<packages>[^;{}\n]+) in (?P<python>[^;{}\n]+);")
_PYSPARK_LACKS = re.compile(r"\[PACKAGE_NOT_INSTALLED\] (?P<packages>\w+ >= [\w.]+) must be installed")
_NOT_THERE = re.compile(r"ModuleNotFoundError: No module named '(?P<packages>pandas|pyarrow)[.\w]*'")

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def is_local(context: SparkContext) -> bool:
    """Whether tasks run in this application's JVM, with the Python that it names."""
    return re.fullmatch(r"local(\[.*\])?", str(context.master)) is not None


def for_executors(context: SparkContext, task: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """The function to send in place of one whose argument is an iterator of a task's rows."""
    if is_local(context):
        return task
    cloudpickle.register_pickle_by_value(worker)
    shipped, pickled = _shipped(context), cloudpickle.dumps(task)
    # The package's own classes cannot be read before it is there.
    package, archive, minimums = shipped.package, shipped.archive, shipped.minimums

    def received(given: Argument) -> Result:
        result: Result = worker.run_task(package, archive, minimums, pickled, given)
        return result

    return received


def lacking_packages(failure: str) -> tuple[str, str] | None:
    """What a worker's Python lacks, and which Python, by the text of a failed job; None for another failure."""
    for pattern in (_LACKS, _PYSPARK_LACKS, _NOT_THERE):
        found = pattern.search(failure)
        if found:
            named = found.groupdict()
            return named["packages"], named.get("python", "the Python that executors were told to use")
    return None


@dataclass(frozen=True, slots=True)
class _Shipped:
    """The package as a zip file of this name, and the oldest versions of the dependencies that tasks use."""

    package: Broadcast[bytes]
    archive: str
    minimums: tuple[tuple[str, str], ...]


def _shipped(context: SparkContext) -> _Shipped:
    """The package in the state in which the driver has it; made once for a context."""
    kept = getattr(context, _SHIPPED, None)
    if not isinstance(kept, _Shipped):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as written:
            for path in sorted(_PACKAGE.rglob("*.py")):
                written.write(path, path.relative_to(_PACKAGE.parent).as_posix())
        data = content.getvalue()
        name = f"sqlext-{hashlib.sha256(data).hexdigest()[:16]}.zip"
        kept = _Shipped(context.broadcast(data), name, _minimums())
        setattr(context, _SHIPPED, kept)
    return kept


def _minimums() -> tuple[tuple[str, str], ...]:
    """The dependencies that tasks use, with the oldest versions that the package's metadata allows."""
    try:
        required = importlib.metadata.requires("sqlext") or []
    except importlib.metadata.PackageNotFoundError:
        required = []
    found = {match[1]: match[2] for one in required if (match := _MINIMUM.match(one))}
    return tuple((name, found.get(name, "0")) for name in _IN_TASKS)
