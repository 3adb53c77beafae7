"""Conditions that Spark has too, beside Spark's own list of them."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter

import pyspark
import pytest

from sqlext.error_conditions import CONDITIONS
from sqlext.error_conditions.spark_parameters import SPARK_PARAMETERS, with_spark_parameters
from sqlext.errors import NotFoundError

_LIST = "error/error-conditions.json"


@cache
def _templates() -> Mapping[str, str]:
    """Spark's message templates by condition."""
    (found,) = (
        text for jar in Path(pyspark.__file__).parent.glob("jars/spark-common-utils*.jar") for text in _read(jar)
    )
    templates = {}
    for name, info in json.loads(found).items():
        templates[name] = " ".join(info["message"])
        for inner, more in info.get("subClass", {}).items():
            templates[f"{name}.{inner}"] = " ".join([*info["message"], *more["message"]])
    return templates


def _read(jar: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(jar) as archive:
        if _LIST in archive.namelist():
            yield archive.read(_LIST)


def _own(condition: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(CONDITIONS[condition].template) if name}


@pytest.mark.parametrize("condition", sorted(CONDITIONS))
def test_a_condition_of_spark_has_the_parameters_of_spark(condition: str) -> None:
    wanted = set(re.findall(r"<([a-zA-Z0-9_-]+)>", _templates().get(condition, "")))
    told = with_spark_parameters(condition, dict.fromkeys(_own(condition), "x"))
    assert wanted <= told.keys()
    assert _own(condition) <= told.keys()


def test_no_parameters_are_told_of_conditions_that_are_not_there() -> None:
    assert SPARK_PARAMETERS.keys() <= CONDITIONS.keys()


def test_own_parameters_stay() -> None:
    error = NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name="lake.db.t")
    told = with_spark_parameters(error.condition, error.parameters)
    assert (told["name"], told["relationName"]) == ("lake.db.t", "lake.db.t")
