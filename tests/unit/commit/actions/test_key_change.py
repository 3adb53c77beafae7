"""A key given to a table and rows written at the same time: whichever comes second must see the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.commit.actions.key_change import AddKey, DropKey
from sqlext.errors import AnalysisError, ValidationConflict
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StringType

PLAIN = Schema((NestedField(1, "id", LongType()), NestedField(2, "region", StringType())))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create(schema=PLAIN, properties={"other": "x"})
    return writer


def test_a_key_comes_and_goes_with_what_is_told_of_it(writer: Writer) -> None:
    base = writer.append(1).table
    told = {"write.key.enforced": "true", "identifier-fields.rely": "true"}
    keyed = writer.commit(AddKey((("ID",),), told, base.metadata.current_snapshot_id), base=base).table.metadata
    assert keyed.schema().identifier_field_ids == (1,)
    assert [field.required for field in keyed.schema().fields] == [True, False]
    assert keyed.properties.items() >= told.items()
    plain = writer.commit(DropKey(), base=writer.load()).table.metadata
    assert plain.schema().identifier_field_ids == ()
    assert [field.required for field in plain.schema().fields] == [True, False]
    assert plain.properties == {"other": "x"}


@pytest.mark.parametrize("stale", [False, True])
def test_rows_that_came_since_the_check_stand_in_the_way(writer: Writer, stale: bool) -> None:
    table = writer.load()
    writer.append(1, base=table)
    with pytest.raises(ValidationConflict):
        writer.commit(AddKey((("id",),)), base=table if stale else writer.load())
    assert writer.load().metadata.schema().identifier_field_ids == ()


def test_rows_written_before_the_key_do_not_come_after_it(writer: Writer) -> None:
    table = writer.load()
    writer.commit(AddKey((("id",),)), base=table)
    with pytest.raises(ValidationConflict, match="required columns id"):
        writer.append(1, base=table)


def test_a_second_key_is_refused(writer: Writer) -> None:
    writer.commit(AddKey((("id",),)), base=writer.load())
    with pytest.raises(AnalysisError, match=r"has the key \(id\)"):
        writer.commit(AddKey((("region",),)), base=writer.load())
