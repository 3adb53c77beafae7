"""The SELECT of a change feed: no more is read, joined and compared than the files call for."""

from __future__ import annotations

from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, MapType, NestedField, StringType
from sqlext.sql.lowering.changes import ChangeStep, change_schema, lower_changes

PLAIN = Schema((NestedField(1, "id", IntegerType()), NestedField(2, "a`b", StringType())))
KEYED = Schema((NestedField(1, "id", IntegerType(), required=True),), identifier_field_ids=(1,))
WITH_MAP = Schema((NestedField(1, "m", MapType(2, IntegerType(), 3, IntegerType(), value_required=True)),))


def _step(removed: tuple[str, ...] = (), added: tuple[str, ...] = (), touched: tuple[str, ...] = ()) -> ChangeStep:
    return ChangeStep("then", "now", 4, 77, removed, added, touched)


def test_an_append_reads_its_files_alone() -> None:
    assert lower_changes([_step(added=("f'1",))], PLAIN) == (
        "SELECT `id`, `a``b`, 'INSERT' AS `_change_type`, 4 AS `_change_ordinal`, 77L AS `_commit_snapshot_id`"
        " FROM (SELECT `id`, `a``b` FROM now WHERE `_file` IN ('f\\'1'))"
    )


def test_moved_rows_are_taken_out() -> None:
    rewrite = _step(removed=("f1",), added=("f2",))
    assert lower_changes([rewrite], PLAIN).count("EXCEPT ALL") == 2
    assert "EXCEPT ALL" not in lower_changes([_step(removed=("f1",))], PLAIN)


def test_rows_that_spark_does_not_compare_are_taken_out_by_number() -> None:
    text = lower_changes([_step(removed=("f1",), added=("f2",))], WITH_MAP)
    assert "EXCEPT ALL" not in text
    assert text.count("LEFT ANTI JOIN") == 2
    assert text.count("row_number()") == text.count("map_entries(`m`)") == 2 * 2
    assert "row_number()" not in lower_changes([_step(added=("f1",))], WITH_MAP)


def test_touched_files_are_compared_by_their_places() -> None:
    text = lower_changes([_step(touched=("f1",))], PLAIN)
    assert text.count("LEFT ANTI JOIN") == 2 * 2  # on both sides of EXCEPT ALL
    assert "`__sqlext_own_file` = `__sqlext_file` AND `__sqlext_own_pos` = `__sqlext_pos`" in text


def test_a_key_makes_updates() -> None:
    assert "UPDATE_BEFORE" in lower_changes([_step(added=("f1",))], KEYED)
    assert "UPDATE_BEFORE" not in lower_changes([_step(added=("f1",))], PLAIN)


def test_no_change_is_no_row() -> None:
    assert lower_changes([_step()], KEYED).endswith("FROM (SELECT `id` FROM now WHERE false)")


def test_columns() -> None:
    assert [(field.id, field.name, field.required) for field in change_schema(KEYED).fields] == [
        (1, "id", False),
        (2, "_change_type", False),
        (3, "_change_ordinal", False),
        (4, "_commit_snapshot_id", False),
    ]
