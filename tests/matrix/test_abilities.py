"""The files of abilities, docs/sql.md and docs/compatibility.md tell of the same things. No ability is run here."""

from __future__ import annotations

import re

import pytest

from matrix.ability import PYTHON_WAYS, WAYS, Ability, abilities
from matrix.attempts import Attempt
from matrix.compatibility import ABSENT, CORE_HEADER, DOCUMENT, header, link, rows, sections
from matrix.core_runs import DOCUMENTED
from matrix.outcomes import FAILED, REFUSED, YES, Versions, judged
from sqlext.spark.shim.supported_spark import MINORS

VERSIONS = Versions("4.1.4", "3.12.1", "17.0.15", "2026-01-01")


def test_each_section_of_the_reference_has_an_ability() -> None:
    assert {one.section for one in abilities()} == {*sections()}


@pytest.mark.parametrize("ability", abilities(), ids=lambda one: one.name)
def test_an_ability_is_apart_from_others(ability: Ability) -> None:
    assert ability.title
    if ability.is_python:
        assert f"CREATE NAMESPACE lake.{ability.name}" in ability.path().read_text()
        return
    assert ability.statements[0] == f"CREATE NAMESPACE lake.{ability.name}"
    named = re.findall(r"\blake\.(\w+)", " ".join(ability.statements))
    assert {*named} <= {ability.name, "system"}
    assert all(spark in MINORS for one in ability.refusals for spark in one.sparks)
    assert all(way in WAYS for one in ability.refusals for way in one.ways)


def test_titles_are_told_once() -> None:
    assert len({one.title for one in abilities()}) == len(abilities())


def test_the_document_has_each_ability_way_and_run() -> None:
    text = DOCUMENT.read_text()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    start, core = lines.index(header()), lines.index(CORE_HEADER)
    told = [line for line in lines[start + 2 : core] if not line[0].startswith("**")]
    assert [line[0] for line in told] == [link(one) for one in rows()]
    for ability, line in zip(rows(), told, strict=True):
        absent = [way for way, cell in zip(WAYS, line[1:-1], strict=True) if cell.startswith(ABSENT)]
        assert absent == [way for way in WAYS if way not in ability.ways()]
    assert len(lines[core + 2 :]) == len(DOCUMENTED)
    assert "FAILED" not in text


def of(**changed: object) -> Ability:
    ability = next(one for one in abilities() if one.name == "variants")
    values = {name: getattr(ability, name) for name in Ability.__slots__}
    return Ability(**{**values, **changed})


@pytest.mark.parametrize(
    ("minor", "attempt", "kind"),
    [
        ("4.1", Attempt("variants", "2"), YES),
        ("4.1", Attempt("variants", "3"), FAILED),
        ("4.1", Attempt("variants", None, 3, "[NOT_READ_BY_SPARK_4_0] no"), FAILED),
        ("4.0", Attempt("variants", None, 3, "[NOT_READ_BY_SPARK_4_0] no"), REFUSED),
        ("4.0", Attempt("variants", None, 3, "[INTERNAL_ERROR] no"), FAILED),
        ("4.0", Attempt("variants", None, 3, "java.lang.NullPointerException"), FAILED),
        ("4.0", Attempt("variants", "2"), FAILED),
    ],
)
def test_an_outcome_is_what_the_ability_says(minor: str, attempt: Attempt, kind: str) -> None:
    assert judged(of(), minor, "driver", attempt, VERSIONS).kind == kind


def test_an_expected_error_is_that_of_the_last_statement() -> None:
    ability = of(expected="KEY_ALREADY_EXISTS", is_error=True, refusals=())
    told = "Error: [KEY_ALREADY_EXISTS] The key"
    assert judged(ability, "4.1", "Thrift", Attempt("variants", None, 3, told), VERSIONS).kind == YES
    assert judged(ability, "4.1", "Thrift", Attempt("variants", None, 2, told), VERSIONS).kind == FAILED
    assert judged(ability, "4.1", "Thrift", Attempt("variants", "2"), VERSIONS).kind == FAILED


def test_ways_of_python() -> None:
    assert {one.ways() for one in abilities()} == {WAYS, PYTHON_WAYS}
