"""The values in which an identity column counts, and the texts of its properties."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.spec.identity_column import (
    FLOOR_PREFIX,
    IDENTITY_PREFIX,
    MARK_PREFIX,
    IdentityColumn,
    IdentityMark,
    identity_columns,
    identity_mark,
    identity_state,
    turned_marks,
    with_values_given,
)
from sqlext.spec.metadata.stream_state import settings_of

_STEPS = st.integers(-7, 7).filter(bool)
_VALUES = st.integers(-60, 60)


def _values(column: IdentityColumn):
    return (column.start + number * column.step for number in count())


@given(start=_VALUES, step=_STEPS, furthest=st.none() | _VALUES)
def test_the_next_value_is_the_first_one_behind_all_that_are_known(start: int, step: int, furthest: int | None) -> None:
    column = IdentityColumn(True, start, step)
    sign = 1 if step > 0 else -1
    wanted = next(one for one in _values(column) if furthest is None or (one - furthest) * sign > 0)
    assert column.after(furthest) == wanted
    assert column.is_further(wanted, furthest)


@given(start=_VALUES, step=_STEPS, given_from=st.none() | _VALUES, number=st.integers(1, 9))
def test_values_are_counted(start: int, step: int, given_from: int | None, number: int) -> None:
    column = IdentityColumn(False, start, step)
    last = column.after(given_from) + (number - 1) * step
    assert column.count(given_from, last) == number


@given(step=_STEPS, values=st.lists(st.none() | _VALUES))
def test_the_furthest_value_is_the_last_in_the_direction_of_counting(step: int, values: list[int | None]) -> None:
    column = IdentityColumn(True, 1, step)
    furthest = column.furthest(values)
    assert not any(column.is_further(value, furthest) for value in values if value is not None)
    assert furthest in values if any(value is not None for value in values) else furthest is None


@given(always=st.booleans(), start=st.integers(-(2**63), 2**63 - 1), step=st.integers(-(2**63), 2**63 - 1).filter(bool))
def test_a_definition_is_read_as_it_was_written(always: bool, start: int, step: int) -> None:
    column = IdentityColumn(always, start, step)
    assert IdentityColumn.decode(column.encode()) == column


@given(value=st.none() | st.integers(), seen=st.integers(0))
def test_a_mark_is_read_as_it_was_written(value: int | None, seen: int) -> None:
    assert IdentityMark.decode(IdentityMark(value, seen).encode()) == IdentityMark(value, seen)


@pytest.mark.parametrize(
    "text", ["", "ALWAYS", "ALWAYS START WITH 1 INCREMENT BY 0", "always START WITH 1 INCREMENT BY 1"]
)
def test_other_texts_are_no_definition(text: str) -> None:
    with pytest.raises(ValueError, match="no identity"):
        IdentityColumn.decode(text)


@pytest.mark.parametrize(
    ("step", "mark", "floor", "wanted"),
    [
        (1, "7@3", "9", 9),
        (1, "7@3", "5", 7),
        (-1, "7@3", "5", 5),
        (1, None, "5", 5),
        (1, "7@3", None, 7),
        (1, None, None, None),
    ],
)
def test_both_properties_say_how_far_a_column_is(
    step: int, mark: str | None, floor: str | None, wanted: int | None
) -> None:
    given_properties = {f"{MARK_PREFIX}4": mark, f"{FLOOR_PREFIX}4": floor}
    properties = {name: text for name, text in given_properties.items() if text is not None}
    found = identity_mark(properties, 4, IdentityColumn(True, 1, step))
    assert found == IdentityMark(wanted, 3 if mark else 0)


def test_a_copy_of_a_table_has_its_own_sequence_numbers() -> None:
    definition = {f"{IDENTITY_PREFIX}4": "ALWAYS START WITH 1 INCREMENT BY 1"}
    properties = {**definition, f"{MARK_PREFIX}4": "7@3", f"{FLOOR_PREFIX}4": "9", "comment": "x"}
    assert identity_state(properties) == {f"{MARK_PREFIX}4": "7@0", f"{FLOOR_PREFIX}4": "9"}
    assert settings_of(properties) == {**definition, "comment": "x"}
    assert identity_columns(properties) == {4: IdentityColumn(True)}
    assert with_values_given(properties) == {f"{IDENTITY_PREFIX}4": "BY DEFAULT START WITH 1 INCREMENT BY 1"}


def test_a_column_that_counts_in_another_direction_passes_what_it_gave():
    up, down = IdentityColumn(True, 10, 5).encode(), IdentityColumn(True, 90, -5).encode()
    state = {f"{MARK_PREFIX}1": "30@7", f"{FLOOR_PREFIX}1": "70"}
    before, after = {f"{IDENTITY_PREFIX}1": up, **state}, {f"{IDENTITY_PREFIX}1": down}
    assert turned_marks(before, after) == {f"{MARK_PREFIX}1": "10@0"}
    assert turned_marks({f"{IDENTITY_PREFIX}1": down, **state}, {f"{IDENTITY_PREFIX}1": up}) == {
        f"{MARK_PREFIX}1": "90@0"
    }
    assert turned_marks(before, {f"{IDENTITY_PREFIX}1": IdentityColumn(False, 1, 2).encode()}) == {}
    # The column was none in the meantime.
    assert turned_marks(state, after) == {f"{MARK_PREFIX}1": "30@0"}
    assert turned_marks({f"{IDENTITY_PREFIX}1": up}, after) == {}
