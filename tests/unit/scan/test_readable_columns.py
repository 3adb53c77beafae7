import pytest

from sqlext.errors import UnsupportedError
from sqlext.scan.readable_columns import require_readable_columns
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.types import BinaryType, IntegerType, NestedField, StringType, StructType

PLAIN = NestedField(1, "id", IntegerType())
DEFAULTED = NestedField(2, "v", IntegerType(), initial_default=7)
INSIDE = NestedField(3, "s", StructType((NestedField(4, "v", StringType(), initial_default="x"),)))
BYTES = NestedField(5, "b", BinaryType(), initial_default=b"x")


def metadata_of(properties: dict[str, str]) -> TableMetadata:
    fields = (PLAIN, DEFAULTED, INSIDE, BYTES)
    return new_table_metadata(Schema(fields), UNPARTITIONED, UNSORTED, "file:///t", properties, 3, "0" * 32, 0)


@pytest.mark.parametrize(
    ("field", "named"),
    [
        (INSIDE, "initial default of s.v"),
        (BYTES, "initial default of b"),
    ],
)
def test_the_column_is_named(field: NestedField, named: str) -> None:
    with pytest.raises(UnsupportedError, match="UNSUPPORTED_TABLE_FEATURE") as refusal:
        require_readable_columns(metadata_of({}), [PLAIN, field])
    assert named in str(refusal.value)


def test_columns_not_asked_for_do_not_matter() -> None:
    require_readable_columns(metadata_of({}), [PLAIN, DEFAULTED])
