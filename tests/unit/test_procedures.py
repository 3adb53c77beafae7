"""`sqlext.procedures` has what the registry has: names, parameters, their order and types, and result columns."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, get_args, get_type_hints

import pytest
from pyspark.sql import DataFrame, SparkSession

from sqlext import procedures
from sqlext.procedure.procedure import Procedure
from sqlext.procedure.registry import PROCEDURES
from sqlext.procedure_call import call, call_statement

TYPES = {
    "string": str,
    "timestamp": datetime,
    "integer": int,
    "int": int,
    "bigint": int,
    "boolean": bool,
    "array<bigint>": Sequence[int],
    "array<string>": Sequence[str],
    "map<string, string>": Mapping[str, str],
}
ALSO_TAKEN = {("fsck", "repair"): bool, ("expire_partitions", "expiration_time"): timedelta}
"""Python's way to say what is a text in SQL."""


def test_each_procedure_is_a_function() -> None:
    assert procedures.__all__ == sorted(PROCEDURES)


@pytest.mark.parametrize("procedure", PROCEDURES.values(), ids=list(PROCEDURES))
def test_a_function_has_the_parameters_of_its_procedure(procedure: Procedure) -> None:
    function = getattr(procedures, procedure.name)
    assert function.__name__ == procedure.name
    spark, *parameters, catalog = inspect.signature(function).parameters.values()
    hints = get_type_hints(function)
    assert (spark.name, hints["spark"], hints["return"]) == ("spark", SparkSession, DataFrame)
    assert (catalog.name, catalog.kind, catalog.default) == ("catalog", catalog.KEYWORD_ONLY, None)
    assert [one.name for one in parameters] == [one.name for one in procedure.parameters]
    for given, known in zip(parameters, procedure.parameters, strict=True):
        assert given.kind is given.POSITIONAL_OR_KEYWORD
        assert given.default is (given.empty if known.required else None)
        also = {ALSO_TAKEN[procedure.name, known.name]} if (procedure.name, known.name) in ALSO_TAKEN else set()
        taken = {TYPES[known.type], *also, *(() if known.required else (type(None),))}
        hint = hints[given.name]
        assert set(get_args(hint) if len(taken) > 1 else (hint,)) == taken


@pytest.mark.parametrize("procedure", PROCEDURES.values(), ids=list(PROCEDURES))
def test_a_function_tells_the_columns_of_its_procedure(procedure: Procedure) -> None:
    said = (inspect.getdoc(getattr(procedures, procedure.name)) or "").partition("Columns: ")[2]
    assert re.findall(r"`(\w+)`", said) == [name for name, _ in procedure.columns]


class Session:
    """What a call asks of a session, which keeps the statement; Spark is not asked."""

    def __init__(self, **settings: str) -> None:
        ours = {"current": "io.sqlext.Catalog", **settings}
        self.settings = {f"spark.sql.catalog.{name}": value for name, value in ours.items()}
        self.asked: list[tuple[str, Mapping[str, Any] | None]] = []
        self.conf, self.catalog = self, self

    def get(self, name: str, default: None) -> str | None:
        return self.settings.get(name, default)

    def currentCatalog(self) -> str:
        return "current"

    def sql(self, text: str, args: Mapping[str, Any] | None = None) -> None:
        self.asked.append((text, args))


@pytest.mark.parametrize("procedure", PROCEDURES.values(), ids=list(PROCEDURES))
def test_a_function_passes_each_argument_under_its_name(procedure: Procedure) -> None:
    values = {str: "x", datetime: datetime(2026, 1, 2), int: 7, bool: True}
    given: dict[str, Any] = {}
    for one in procedure.parameters:
        kind = TYPES[one.type]
        given[one.name] = values.get(kind, {"k": "v"} if kind == Mapping[str, str] else [1])
    session = Session()
    getattr(procedures, procedure.name)(session, **given)
    ((text, args),) = session.asked
    assert text.startswith(f"CALL `current`.system.{procedure.name}(")
    markers = iter(args or {})
    for name, value in given.items():
        parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
        marked = [next(markers) for _ in parts]
        assert [(args or {})[one] for one in marked] == parts
        assert re.search(rf"\b{name} => (map\(|array\()?:{marked[0]}\b", text)


def test_values_are_parameters_and_never_text() -> None:
    hostile = "x'); DROP TABLE t --\\`"
    text, values = call_statement(
        "a`b",
        "some",
        {
            "table": hostile,
            "options": {hostile: "1"},
            "ids": [1, 2**40, None],
            "none": None,
            "no_options": {},
            "no_ids": [],
            "age": timedelta(days=7),
        },
    )
    assert text == (
        "CALL `a``b`.system.some(table => :p0, options => map(:p1, :p2), ids => array(:p3, :p4, NULL),"
        " no_options => map(), no_ids => array(), age => :p5)"
    )
    assert values == {"p0": hostile, "p1": hostile, "p2": "1", "p3": 1, "p4": 2**40, "p5": "604800000 ms"}


@pytest.mark.parametrize(
    ("table", "catalog"),
    [
        ("lake.db.t", "lake"),
        ("lake.db.`a.b`", "lake"),
        ("`la.ke`.db.t", "la.ke"),
        ("` ``x`.db.t", " `x"),
        ("db.t", "current"),
        ("other.db.t", "current"),
        ("t", "current"),
        ("", "current"),
        ("`open.db.t", "current"),
        ("spark_catalog.db.t", "spark_catalog"),
    ],
)
def test_the_catalog_is_that_of_the_table(table: str, catalog: str) -> None:
    ours = dict.fromkeys(("lake", "la.ke", " `x", "told"), "io.sqlext.Catalog")
    session: Any = Session(**ours, other="org.other.Catalog", spark_catalog="io.sqlext.SessionCatalog")
    call(session, "health", None, table=table)
    call(session, "health", "told", table=table)
    quoted = catalog.replace("`", "``")
    assert [text for text, _ in session.asked] == [
        f"CALL `{quoted}`.system.health(table => :p0)",
        "CALL `told`.system.health(table => :p0)",
    ]


def test_a_call_without_arguments_has_no_parameters() -> None:
    session: Any = Session()
    procedures.optimize_all(session)
    assert session.asked == [("CALL `current`.system.optimize_all()", None)]
