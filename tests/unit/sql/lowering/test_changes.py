"""The SELECT of a change feed: no more is read, joined and compared than the files call for."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, MapType, NestedField, StringType
from sqlext.sql.lowering.changes import ChangeStep, change_schema, images, lower_changes
from sqlext.sql.lowering.union import union_all

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


def test_told_rows_of_several_steps_are_read_once() -> None:
    told = [replace(_step(), ordinal=ordinal, snapshot_id=70 + ordinal, told="rows") for ordinal in range(3)]
    text = lower_changes([*told, _step(added=("f1",))], PLAIN)
    assert text.count("FROM rows") == 1
    assert "`__sqlext_ordinal` AS `_change_ordinal`, `__sqlext_snapshot` AS `_commit_snapshot_id` FROM rows" in text
    went, came = images(told[1], ["`id`"])
    assert (went, came) == (
        ["SELECT `id` FROM rows WHERE `__sqlext_snapshot` = 71L AND `_row_kind` IN ('-U', '-D')"],
        ["SELECT `id` FROM rows WHERE `__sqlext_snapshot` = 71L AND `_row_kind` IN ('+I', '+U')"],
    )


def test_many_steps_are_no_deep_chain() -> None:
    def most_in_a_chain(query: str) -> int:
        depth, chains, most = 0, {0: 1}, 1
        for word in query.replace("(", " ( ").replace(")", " ) ").replace("UNION ALL", "UNION_ALL").split():
            if word == "(":
                depth += 1
                chains[depth] = 1
            elif word == ")":
                depth -= 1
            elif word == "UNION_ALL":
                chains[depth] += 1
                most = max(most, chains[depth])
        return most

    for number in (1, 32, 33, 1_024, 1_025, 5_000):
        text = union_all([f"SELECT {one}" for one in range(number)])
        assert [int(one) for one in re.findall(r"SELECT (\d+)", text)] == list(range(number))
        assert most_in_a_chain(text) <= 32
    for change in (_step(added=("f1",)), _step(removed=("f1",), added=("f2",)), _step(touched=("f1",))):
        assert most_in_a_chain(lower_changes([change] * 2_000, KEYED)) <= 32


def test_no_change_is_no_row() -> None:
    assert lower_changes([_step()], KEYED).endswith("FROM (SELECT `id` FROM now WHERE false)")


def test_columns() -> None:
    assert [(field.id, field.name, field.required) for field in change_schema(KEYED).fields] == [
        (1, "id", False),
        (2, "_change_type", False),
        (3, "_change_ordinal", False),
        (4, "_commit_snapshot_id", False),
    ]
