from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, ListType, NestedField, StringType, Type, UnknownType, VariantType
from sqlext.spec.version_feature import require_version


@pytest.mark.parametrize("type", [VariantType(), UnknownType(), ListType(2, VariantType(), False)])
def test_types_of_version_3(type: Type) -> None:
    schema = Schema((NestedField(1, "v", type),))
    require_version(schema, 3)
    with pytest.raises(UnsupportedError) as refusal:
        require_version(schema, 2)
    assert refusal.value.condition == "FORMAT_VERSION_TOO_LOW"


def test_defaults() -> None:
    require_version(Schema((NestedField(1, "s", StringType()),)), 1)
    with pytest.raises(UnsupportedError, match="default of column i"):
        require_version(Schema((NestedField(1, "i", IntegerType(), write_default=0),)), 2)
