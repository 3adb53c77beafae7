"""Defaults that are refused before Spark is asked."""

from __future__ import annotations

import pytest

from sqlext.command.ddl.default_value import default_value
from sqlext.spec.types import (
    DateType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    Type,
    VariantType,
)
from unit.command.lake import refused


def test_null_is_no_default() -> None:
    for type in (LongType(), VariantType()):
        assert default_value(None, NestedField(1, "c", type), "null") is None


@pytest.mark.parametrize("type", [ListType(2, LongType(), False), VariantType(), TimestampNanoType()])
def test_columns_that_can_have_none(type: Type) -> None:
    with refused("UNSUPPORTED_TYPE", "no default but null"):
        default_value(None, NestedField(1, "c", type), "'x'")


@pytest.mark.parametrize(
    ("type", "text", "said"),
    [
        (DateType(), "current_date()", "current_date differs"),
        (TimestampType(), "date_trunc('DAY', Now())", "Now differs"),
        (StringType(), "concat('a', USER)", "USER differs"),
        (LongType(), "1 + unix_timestamp()", "unix_timestamp differs"),
    ],
)
def test_what_differs_from_one_moment_to_the_next(type: Type, text: str, said: str) -> None:
    """Spark folds it, and would store the moment of the statement."""
    with refused("INVALID_DEFAULT_VALUE", said):
        default_value(None, NestedField(1, "c", type), text)
