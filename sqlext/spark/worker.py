"""What a task does first in the Python of an executor on another machine, which need not have sqlext.

These functions are sent with each task, by value: they use nothing of the package, which they make importable.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from pyspark import Broadcast, SparkFiles, cloudpickle


def run_task(
    package: Broadcast[bytes], archive: str, minimums: Sequence[tuple[str, str]], task: bytes, given: Any
) -> Any:
    """The pickled task's answer. Raises ImportError if the Python lacks a package, before the task is unpickled.

    The first task of a worker looks for packages. The folder of Spark's files is the executor's own, and that of its
    session with Spark Connect.
    """
    path = os.path.join(SparkFiles.getRootDirectory(), archive)
    if path not in sys.path:
        lacking = [f"{name}>={least} ({found})" for name, least in minimums if (found := unfit(name, least))]
        if lacking:
            raise ImportError(f"sqlext's task lacks {', '.join(lacking)} in {sys.executable};")
        if not os.path.exists(path):
            partial = f"{path}.{os.getpid()}"
            with open(partial, "wb") as written:
                written.write(package.value)
            os.replace(partial, path)
        sys.path.insert(0, path)
    return cloudpickle.loads(task)(given)


def unfit(name: str, least: str) -> str | None:
    """What this Python has in place of a version of the package that is new enough; None if it has that."""
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    return version if numbers(version) < numbers(least) else None


def numbers(version: str) -> list[int]:
    """The first three numbers of a version."""
    return [int(part) for part in re.findall(r"\d+", version)[:3]]
