"""What of an expression, as Spark's parser takes it apart, may be a CHECK."""

from __future__ import annotations

from typing import Any

import pytest

from sqlext.sql.check_text import fault_of, variable_in


def part(kind: str = "Literal", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "name": kind.lower(), "holds_subquery": False, "is_star": False, **more}


def call(*name: str, aggregates: bool = False, **more: Any) -> dict[str, Any]:
    return part("UnresolvedFunction", function=list(name), aggregates=aggregates, **more)


def test_functions_of_the_list_may_stand_there_in_any_case() -> None:
    assert fault_of([call("UPPER"), call(">="), part(), part("UnresolvedAttribute")]) is None


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (call("java_method"), "it calls the function java_method, which is none of Spark's that may stand there"),
        (call("system", "builtin", "upper"), "it calls the function system.builtin.upper"),
        (call("upper", aggregates=True), "it holds an aggregate function"),
        (call("upper", holds_subquery=True), "it holds a subquery"),
        (part("UnresolvedStar", is_star=True), "it holds a star"),
        (part("CurrentDate"), "it holds currentdate"),
        (part("UnresolvedWindowExpression"), "it holds unresolvedwindowexpression"),
    ],
)
def test_others_are_refused_wherever_they_stand(refused: dict[str, Any], reason: str) -> None:
    assert fault_of([call("and"), part(), refused, part()]) == reason


def test_the_first_part_that_is_refused_is_told() -> None:
    assert fault_of([part("Now"), call("reflect")]) == "it holds now"


def test_a_variable_is_found_before_the_text_is_parsed() -> None:
    assert variable_in("v > ${x}") is not None
    assert variable_in("v > '$' || '{x}'") is None
