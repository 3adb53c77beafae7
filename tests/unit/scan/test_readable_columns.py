import pytest

from sqlext.errors import UnsupportedError
from sqlext.scan.readable_columns import require_readable_columns
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType, UuidType

PLAIN = NestedField(1, "id", IntegerType())
DEFAULTED = NestedField(2, "v", IntegerType(), initial_default=7)
INSIDE = NestedField(3, "s", StructType((NestedField(4, "v", StringType(), initial_default="x"),)))
UUID = NestedField(5, "u", UuidType())
UUIDS = NestedField(6, "us", ListType(7, UuidType(), False))
KEYED = NestedField(8, "m", MapType(9, UuidType(), 10, IntegerType(), False))


def metadata_of(properties: dict[str, str]) -> TableMetadata:
    fields = (PLAIN, DEFAULTED, INSIDE, UUID, UUIDS, KEYED)
    return new_table_metadata(Schema(fields), UNPARTITIONED, UNSORTED, "file:///t", properties, 3, "0" * 32, 0)


@pytest.mark.parametrize(
    ("field", "named"),
    [
        (INSIDE, "initial default of s.v"),
        (UUID, "such as u)"),
        (UUIDS, "such as us.element)"),
        (KEYED, "such as m.key)"),
    ],
)
def test_the_column_is_named(field: NestedField, named: str) -> None:
    with pytest.raises(UnsupportedError, match="UNSUPPORTED_TABLE_FEATURE") as refusal:
        require_readable_columns(metadata_of({}), [PLAIN, field])
    assert named in str(refusal.value)


def test_columns_not_asked_for_do_not_matter() -> None:
    require_readable_columns(metadata_of({}), [PLAIN, DEFAULTED])
