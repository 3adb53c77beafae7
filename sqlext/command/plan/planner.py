"""The planner of changes and compactions: the ways in the order of preference, and the conditions of each.

All ways that a statement admits give the same rows. Of the ways in `sqlext.plan.force` the first admitted one is taken,
in the order of preference; if none is, the plan is as without it. `tests/golden/run_strategies.py` compares the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlext.command.plan.change_plan import COPIES, Alternative, ChangePlan, Way, Writer
from sqlext.command.plan.facts import ChangeFacts, CompactionFacts, KeyFacts
from sqlext.command.plan.planning import FORCE, ON_DRIVER, Planning
from sqlext.thresholds import ALL_ROWS


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plan that the facts admit. `chosen`: without a forced way it is taken, unless an earlier one is."""

    plan: ChangePlan
    chosen: bool


_Rule: TypeAlias = Callable[[ChangeFacts, Planning], _Candidate | None]


def plan_change(facts: ChangeFacts, planning: Planning) -> ChangePlan:
    """The plan of a DELETE, UPDATE, MERGE, upsert, or write to a table with a merge engine."""
    unforced = next(one.plan for _, rule in _RULES if (one := rule(facts, planning)) is not None and one.chosen)
    for way, rule in _RULES:
        if way in planning.forced_ways and (candidate := rule(facts, planning)) is not None:
            return unforced if way is unforced.way else replace(candidate.plan, reason=f"{FORCE} says so")
    return unforced


def plan_distinct_keys(facts: ChangeFacts, planning: Planning) -> ChangePlan | None:
    """The plan of a stream batch, to be used if it proves small and no two of its rows have the same key.

    None if the driver may not write it or cannot look up its keys, if the table compares rows by a sequence field or is
    not merged on read, and if a way is forced.
    """
    key = facts.key
    if key is None or not key.in_order or facts.format_version < 2 or planning.in_tasks or planning.forced_ways:
        return None
    writer, reason = Writer(planning.thresholds.driver_bytes, given=True), "each row of the batch has a key of its own"
    if key.upsert_mode.value == Way.EQUALITY.value and key.deletes_apply_to_all():
        return ChangePlan(Way.EQUALITY, reason, writer)
    marks = facts.mode.value == Way.MERGE_ON_READ.value and not key.compares_stored
    return ChangePlan(Way.LOOK_UP, reason, writer) if marks and key.keys_fit() else None


def plan_insert(
    planning: Planning, way: Way = Way.APPEND, *, is_given: bool = False, is_enforced: bool = False
) -> ChangePlan:
    """The plan of an insert: APPEND, or the OVERWRITE that the statement requests.

    `is_given`: the rows are literals in the table's columns. `is_enforced`: the table has an ENFORCED key.
    """
    reason = _INSERTED[way]
    if way is Way.APPEND and is_enforced:
        reason = "new keys are looked up in the table first, since its key is enforced"
    given = is_given and not planning.in_tasks
    writer = replace(planning.writer(), given=given, reads_files=not planning.source_by_query)
    return ChangePlan(way, reason, writer)


_INSERTED = {
    Way.APPEND: "new rows are appended, and those of the table are not read",
    Way.OVERWRITE: "all files of the table are removed",
    Way.OVERWRITE_PARTITIONS: "all files of partitions with new rows are removed",
    Way.OVERWRITE_WHERE: "files with rows of the partition alone are removed, and its rows in others deleted",
}


def plan_compaction(facts: CompactionFacts, planning: Planning) -> Writer:
    """The writer of a compaction: the driver if it has memory for the rows and can read them without a query, else
    tasks."""
    limits = planning.thresholds
    fits = facts.bytes <= limits.compacted_bytes and not (facts.sorts and facts.largest > limits.sorted_bytes)
    if planning.in_tasks or not (fits or planning.forced_writer == ON_DRIVER) or not facts.is_readable():
        return Writer(0)
    return Writer(limits.compacted_bytes)


def rewrites_in_tasks(facts: CompactionFacts, planning: Planning) -> bool:
    """Whether tasks may read the files of a compaction themselves, without a query."""
    fits = not facts.sorts or facts.largest <= planning.thresholds.task_sorted_bytes
    return fits and facts.is_readable()


def most_rows(facts: ChangeFacts, planning: Planning, most: int) -> int:
    """How many rows the driver tries to take: at most `most`, fewer if the target's rows are large."""
    limits = planning.thresholds
    fitting = limits.driver_bytes * max(facts.target.rows, 1) // max(limits.unpacked * facts.target.bytes, 1)
    return min(most, fitting)


def is_likely_few(facts: ChangeFacts, planning: Planning) -> bool | None:
    """Whether the driver may try to take the changed rows; None if their number is unknown."""
    expected = facts.expected_rows if facts.key is None else facts.key.size().rows
    if expected is None:
        return None
    short = planning.thresholds.short_guess if facts.is_guess else 1
    return expected * short <= most_rows(facts, planning, planning.thresholds.driver_rows)


# The ways


def _everything(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    if not facts.deletes_all:
        return None
    return _Candidate(ChangePlan(Way.DELETE_ALL, "there is no condition", Writer(0), has_new_rows=False), True)


def _covered(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    covered = facts.covered
    if covered is None:
        return None
    if not covered.undecided:
        reason = f"files with only matching rows, by partitions and bounds: {covered.whole}; no other row matches"
        return _Candidate(ChangePlan(Way.METADATA_DELETE, reason, Writer(0), has_new_rows=False), True)
    if not covered.whole or facts.format_version < 2 or facts.mode.value != Way.MERGE_ON_READ.value:
        return None
    reason = f"files with only matching rows, by partitions and bounds: {covered.whole}; {facts.mode.reason}"
    return _Candidate(ChangePlan(Way.PARTIAL_METADATA_DELETE, reason, Writer(0), has_new_rows=False), True)


def _equality(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    key = facts.key
    if key is None or facts.format_version < 2 or not key.deletes_apply_to_all():
        return None
    chosen = key.upsert_mode.value == Way.EQUALITY.value
    if not chosen and key.compares_stored:
        return None
    tried = most_rows(facts, planning, planning.thresholds.driver_rows)
    writer = replace(
        planning.writer(tried),
        tries_filtered=planning.forced_writer is None,
        given=key.is_given and not planning.in_tasks,
    )
    plan = ChangePlan(Way.EQUALITY, f"{key.upsert_mode.name} is equality", writer)
    return _Candidate(plan, chosen)


def _look_up(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    """Admitted if the driver can look up the keys, which costs less than a join while the source is small."""
    key = facts.key
    if key is None or facts.format_version < 2 or planning.in_tasks or key.compares_stored or not key.keys_fit():
        return None
    otherwise = _by_mode(facts, planning)
    size = key.size()
    tried = ALL_ROWS
    reason = "the source is small"
    if not size.is_small and size.may_be_few:
        tried = most_rows(facts, planning, planning.thresholds.driver_rows)
        reason = "the source may have few rows"
    limits = [] if tried >= ALL_ROWS else [f"{tried:,} rows"]
    when = f"if the source has more than {' or '.join([*limits, f'{planning.thresholds.driver_bytes:,} bytes'])}"
    rewrites = _rewrites(otherwise, planning)
    given = key.is_given and rewrites is None
    plan = ChangePlan(
        Way.LOOK_UP,
        _of_key(facts, key, reason),
        Writer(planning.thresholds.driver_bytes, tried, given=given),
        too_many=None if given else Alternative(when, otherwise),
        rewrites=rewrites,
    )
    may_be_chosen = size.is_small or (size.may_be_few and otherwise.way is not Way.AUTO)
    return _Candidate(plan, may_be_chosen and otherwise.way not in COPIES)


def _named_keys(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    marks = facts.format_version > 1 and facts.mode.value == Way.MERGE_ON_READ.value
    if not marks or planning.in_tasks or not facts.finds_keys():
        return None
    reason = f"{facts.mode.reason}; the condition names rows by their keys"
    writer = Writer(planning.thresholds.driver_bytes, given=True)
    return _Candidate(ChangePlan(Way.NAMED_KEYS, reason, writer, has_new_rows=not facts.only_deletes), True)


def _insert_only(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    if not facts.only_inserts:
        return None
    plan = ChangePlan(Way.INSERT_ONLY, "no clause changes a target row", planning.writer())
    return _Candidate(plan, True)


def _copy_on_write(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    if facts.only_inserts:
        return None
    plan = ChangePlan(Way.COPY_ON_WRITE, _copied(facts), _writer_of_held(facts, planning))
    return _Candidate(plan, _copies(facts) and facts.copied_by_query() is None)


def _copy_by_query(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    if facts.only_inserts:
        return None
    copies = _copies(facts)
    why = facts.copied_by_query() if copies else None
    reason = _copied(facts) if why is None else f"{_copied(facts)}, and {why}"
    return _Candidate(ChangePlan(Way.COPY_BY_QUERY, reason, _writer_of_held(facts, planning)), copies)


def _copies(facts: ChangeFacts) -> bool:
    return facts.format_version < 2 or facts.mode.value == Way.COPY_ON_WRITE.value


def _copied(facts: ChangeFacts) -> str:
    """Why files are replaced by copies."""
    reason = facts.mode.reason if facts.format_version > 1 else "format version 1 has no delete files"
    return _of_key(facts, facts.key, reason)


def _auto(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    if facts.only_inserts or facts.format_version < 2:
        return None
    plan = ChangePlan(Way.AUTO, _of_key(facts, facts.key, facts.mode.reason), _writer_of_held(facts, planning))
    return _Candidate(plan, facts.mode.value == Way.AUTO.value)


def _completed_by_tasks(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    """Admitted if new rows keep columns that tasks can read, and chosen if Spark would shuffle these in a join."""
    if facts.only_inserts or facts.only_deletes or facts.format_version < 2:
        return None
    columns = facts.columns_read_by_tasks()
    if not columns:
        return None
    is_wide = columns >= planning.thresholds.completed_columns
    chosen = facts.shuffles_source and is_wide and is_likely_few(facts, planning) is False
    reason = f"{facts.mode.reason}, and {columns} columns without new values need not pass through the join"
    plan = ChangePlan(Way.COMPLETED_BY_TASKS, reason, _writer_of_held(facts, planning))
    return _Candidate(plan, chosen and facts.mode.value == Way.MERGE_ON_READ.value)


def _merge_on_read(facts: ChangeFacts, planning: Planning) -> _Candidate | None:
    if facts.only_inserts or facts.format_version < 2:
        return None
    few = is_likely_few(facts, planning)
    limits = planning.thresholds
    tried = most_rows(facts, planning, limits.driver_rows) if few else 0
    completes = facts.keeps_columns and few is not False and not planning.in_tasks
    completed = most_rows(facts, planning, limits.completed_rows) if completes else 0
    reason = _of_key(facts, facts.key, facts.mode.reason)
    is_wide = not few and facts.columns_read_by_tasks() >= limits.completed_columns
    writer = replace(planning.writer(tried, completed), completes=is_wide and facts.in_scan_order())
    return _Candidate(ChangePlan(Way.MERGE_ON_READ, reason, writer, has_new_rows=not facts.only_deletes), True)


def _writer_of_held(facts: ChangeFacts, planning: Planning) -> Writer:
    """The writer of cached rows, for which a failed attempt on the driver does not run the query twice."""
    return planning.writer(most_rows(facts, planning, planning.thresholds.driver_rows))


_MODES: Sequence[tuple[Way, _Rule]] = (
    (Way.COPY_ON_WRITE, _copy_on_write),
    (Way.COPY_BY_QUERY, _copy_by_query),
    (Way.AUTO, _auto),
    (Way.COMPLETED_BY_TASKS, _completed_by_tasks),
    (Way.MERGE_ON_READ, _merge_on_read),
)
_RULES: Sequence[tuple[Way, _Rule]] = (
    (Way.DELETE_ALL, _everything),
    (Way.METADATA_DELETE, _covered),
    (Way.EQUALITY, _equality),
    (Way.LOOK_UP, _look_up),
    (Way.NAMED_KEYS, _named_keys),
    (Way.INSERT_ONLY, _insert_only),
    *_MODES,
)


def _by_mode(facts: ChangeFacts, planning: Planning) -> ChangePlan:
    """The plan by the mode of the statement's verb, which every change admits."""
    return next(one.plan for _, rule in _MODES if (one := rule(facts, planning)) is not None and one.chosen)


def _of_key(facts: ChangeFacts, key: KeyFacts | None, reason: str) -> str:
    """`reason`, after that for the choice of how replaced rows are found if the change is by key."""
    if key is None:
        return reason
    found = key.upsert_mode.reason
    if key.upsert_mode.value == Way.EQUALITY.value and facts.format_version > 1:
        found += ", but equality deletes would not apply to files of an earlier partition spec"
    return f"{found}; {reason}"


def _rewrites(otherwise: ChangePlan, planning: Planning) -> Alternative | None:
    if otherwise.way is not Way.AUTO:
        return None
    share = planning.thresholds.rewritten_share
    return Alternative(f"if at least {share:.0%} of the rows of the files touched are deleted", otherwise)
