"""What a refusal must be: one condition, one sentence for a person, and a warehouse as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from small_tables import files_below

TRACES = ("\tat ", "\n  at ", "Traceback", "Py4J", "py4j", "java.", "org.apache.spark.", "sqlext.spark")
# More rows than the driver writes itself, by Spark's estimate of three strings a row.
MANY_ROWS = 600_000


def refused(condition: str, run: Callable[[], Any]) -> str:
    """Runs what must fail with `condition`, and returns the message, which holds no trace of an engine."""
    with pytest.raises(PySparkException) as caught:
        run()
    message = str(caught.value)
    assert caught.value.getCondition() == condition, message
    assert not [trace for trace in TRACES if trace in message], message
    return message


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """The block leaves the same files in `folder`, hidden ones too."""
    before = files_below(folder)
    yield
    assert files_below(folder) == before


def table_folder(warehouse: Path, table: str) -> Path:
    """Folder of `lake.<namespace>.<name>`."""
    return warehouse.joinpath(*table.split(".")[1:])
