"""What the shim finds in a value or a condition of a statement that changes rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.errors import AnalysisError


def refuse_expression(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Errors, always: AnalysisError CONDITION_NOT_BOOLEAN for an expression that `is` of another type,
    EXPRESSION_IN_CHANGE for one that `makes` several rows or `sees` them."""
    place, expression = arguments["place"], arguments["expression"]
    if "is" in arguments:
        raise AnalysisError("CONDITION_NOT_BOOLEAN", clause=place, expression=expression, type=arguments["is"])
    what = "makes several rows" if "makes" in arguments else "is a window function"
    raise AnalysisError("EXPRESSION_IN_CHANGE", place=place, expression=expression, what=what)
