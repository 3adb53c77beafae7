"""The plans of changes, from facts alone: every combination has one, and each is one that the table admits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from forced_plans import FORCED
from sqlext.command.plan.change_plan import COPIES, ChangePlan, Way
from sqlext.command.plan.facts import ChangeFacts, CompactionFacts, CoveredFiles, KeyFacts, Mode, SourceSize, TargetSize
from sqlext.command.plan.planner import plan_change, plan_compaction, plan_distinct_keys, plan_insert
from sqlext.command.plan.planning import FORCED_WAYS, IN_TASKS, ON_DRIVER, Planning
from sqlext.errors import AnalysisError
from sqlext.thresholds import Thresholds

MODES = ("merge-on-read", "copy-on-write", "auto")
DEFAULT = Planning()
MERGE_ON_READ = Mode("write.merge.mode", "merge-on-read", False)
SIZES = (SourceSize(3, is_small=True), SourceSize(10**9), SourceSize(10**9, may_be_few=True))
PLANS = ["", *FORCED, "equality,tasks", "merge-on-read,driver", "look-up,copy-on-write"]


def keyed(
    size: SourceSize = SIZES[0],
    upsert_mode: str = "resolved",
    *,
    reach: bool = True,
    fit: bool = True,
    compares: bool = False,
    given: bool = False,
    in_order: bool = False,
) -> KeyFacts:
    mode = Mode("write.upsert.mode", upsert_mode, upsert_mode != "resolved")
    return KeyFacts(mode, lambda: reach, lambda: fit, lambda: size, compares, given, in_order)


def all_facts() -> Iterator[ChangeFacts]:
    flags = (False, True)
    for mode, version, rows, keeps in itertools.product(MODES, (1, 2, 3), (None, 5, 10**9), flags):
        facts = ChangeFacts(
            Mode("write.merge.mode", mode, True),
            version,
            TargetSize(10**7, 10**6),
            rows,
            keeps_columns=keeps,
            columns_read_by_tasks=lambda keeps=keeps: 8 if keeps else 0,  # type: ignore[misc]
        )
        yield facts
        yield replace(facts, shuffles_source=True)
        yield replace(facts, only_inserts=True)
        yield replace(facts, only_deletes=True, deletes_all=True)
        yield from (replace(facts, only_deletes=True, covered=CoveredFiles(*pair)) for pair in ((0, 0), (2, 0), (2, 1)))
        for size, upsert_mode in itertools.product(SIZES, ("resolved", "equality")):
            for reach, fit, compares, given in itertools.product(flags, repeat=4):
                key = keyed(size, upsert_mode, reach=reach, fit=fit, compares=compares, given=given)
                yield replace(facts, key=key)


def plans_in(plan: ChangePlan) -> Iterator[ChangePlan]:
    yield plan
    for instead in (plan.too_many, plan.rewrites):
        if instead is not None:
            yield from plans_in(instead.plan)


@pytest.mark.parametrize("forced", PLANS)
def test_every_change_has_a_plan_that_its_table_admits(forced: str) -> None:
    planning = Planning.of({"sqlext.plan.force": forced})
    for facts in all_facts():
        plan = plan_change(facts, planning)
        for one in plans_in(plan):
            assert one.reason
            assert all(one.lines())
            if facts.format_version < 2:
                assert one.way in (*COPIES, Way.INSERT_ONLY, Way.DELETE_ALL, Way.METADATA_DELETE)
            if one.way in (Way.EQUALITY, Way.LOOK_UP):
                assert facts.key is not None
            if one.way is Way.EQUALITY:
                assert facts.key is not None
                assert facts.key.deletes_apply_to_all()
            if one.way is Way.LOOK_UP:
                assert facts.key is not None
                assert facts.key.keys_fit()
                assert not facts.key.compares_stored
                assert (one.too_many is None) == one.writer.given
                assert one.too_many is None or one.too_many.plan.way not in (Way.LOOK_UP, Way.EQUALITY)
                assert not (one.writer.given and one.rewrites)
            if facts.only_inserts:
                assert one.way is Way.INSERT_ONLY
            if planning.in_tasks:
                assert one.way is not Way.LOOK_UP
                assert not one.writer.given
                assert not one.writer.most_bytes


def test_rows_are_compared_under_every_way_that_can_be_forced() -> None:
    assert {*FORCED_WAYS, ON_DRIVER, IN_TASKS} <= {part for text in FORCED for part in text.split(",")}


@pytest.mark.parametrize("name", FORCED_WAYS)
def test_a_forced_way_is_taken_or_nothing_changes(name: str) -> None:
    planning = Planning.of({"sqlext.plan.force": name})
    taken = 0
    for facts in all_facts():
        plan, without = plan_change(facts, planning), plan_change(facts, DEFAULT)
        assert plan.way is FORCED_WAYS[name] or plan == without
        assert (plan.reason == "sqlext.plan.force says so") == (plan.way is not without.way)
        taken += plan.way is not without.way
    assert taken


def test_tasks_read_kept_columns_that_a_join_would_shuffle() -> None:
    facts = ChangeFacts(
        MERGE_ON_READ, 2, TargetSize(10**9, 10**7), 10**6, columns_read_by_tasks=lambda: 8, shuffles_source=True
    )
    plan = plan_change(facts, DEFAULT)
    assert next(plan.lines()) == (
        "merge-on-read completed by tasks: write.merge.mode is merge-on-read by default, and 8 columns without new"
        " values need not pass through the join"
    )
    assert plan_change(facts, Planning.of({"sqlext.plan.completed-columns": "9"})).way is Way.MERGE_ON_READ
    others = [
        replace(facts, format_version=1),
        replace(facts, mode=Mode("write.merge.mode", "copy-on-write", True)),
        replace(facts, columns_read_by_tasks=lambda: 7),
        replace(facts, shuffles_source=False),
        replace(facts, expected_rows=5),
        replace(facts, expected_rows=None),
        replace(facts, only_inserts=True),
        replace(facts, only_deletes=True),
    ]
    assert Way.COMPLETED_BY_TASKS not in {plan_change(one, DEFAULT).way for one in others}


@pytest.mark.parametrize(
    ("key", "way", "reason"),
    [
        (keyed(), Way.LOOK_UP, "write.upsert.mode is resolved by default; the source is small"),
        (
            keyed(SIZES[2]),
            Way.LOOK_UP,
            "write.upsert.mode is resolved by default; the source may have few rows",
        ),
        (
            keyed(SIZES[1]),
            Way.MERGE_ON_READ,
            "write.upsert.mode is resolved by default; write.merge.mode is merge-on-read by default",
        ),
        (keyed(fit=False), Way.MERGE_ON_READ, None),
        (keyed(compares=True), Way.MERGE_ON_READ, None),
        (keyed(upsert_mode="equality"), Way.EQUALITY, "write.upsert.mode is equality"),
        (
            keyed(upsert_mode="equality", reach=False),
            Way.LOOK_UP,
            "write.upsert.mode is equality, but equality deletes would not apply to files of an earlier partition spec;"
            " the source is small",
        ),
    ],
)
def test_an_upsert_goes_by_its_mode_and_the_size_of_its_source(key: KeyFacts, way: Way, reason: str | None) -> None:
    plan = plan_change(ChangeFacts(MERGE_ON_READ, 2, key=key), DEFAULT)
    assert plan.way is way
    assert reason in (None, plan.reason)


def test_manifests_are_read_for_facts_that_decide_alone() -> None:
    def never() -> bool:
        raise AssertionError("a manifest is read")

    key = replace(keyed(upsert_mode="equality"), keys_fit=never)
    assert plan_change(ChangeFacts(MERGE_ON_READ, 2, key=key), DEFAULT).way is Way.EQUALITY
    key = replace(keyed(), keys_fit=never, deletes_apply_to_all=never)
    assert plan_change(ChangeFacts(MERGE_ON_READ, 1, key=key), DEFAULT).way is Way.COPY_ON_WRITE


@pytest.mark.parametrize(
    ("rows", "is_guess", "tried"),
    [(None, True, 0), (8_192, True, 65_536), (8_193, True, 0), (65_536, False, 65_536), (65_537, False, 0)],
)
def test_the_driver_tries_what_is_likely_to_be_few(rows: int | None, is_guess: bool, tried: int) -> None:
    plan = plan_change(ChangeFacts(MERGE_ON_READ, 2, expected_rows=rows, is_guess=is_guess), DEFAULT)
    assert plan.writer.tried_rows == tried


def test_fewer_rows_are_tried_where_they_are_large() -> None:
    """Of a table with a megabyte in each row: 32 MB, four times unpacked."""
    facts = ChangeFacts(MERGE_ON_READ, 2, TargetSize(100 * 2**20, 100), expected_rows=1)
    assert plan_change(facts, DEFAULT).writer.tried_rows == 8


def test_a_batch_of_own_keys_is_planned_before_its_size_is_known() -> None:
    def never() -> SourceSize:
        raise AssertionError("the batch is looked at")

    for mode, way in (("equality", Way.EQUALITY), ("resolved", Way.LOOK_UP)):
        key = replace(keyed(upsert_mode=mode, in_order=True), size=never)
        plan = plan_distinct_keys(ChangeFacts(MERGE_ON_READ, 2, key=key), DEFAULT)
        assert plan is not None
        assert (plan.way, plan.writer.given) == (way, True)
    key = replace(keyed(in_order=True), size=never)
    for facts in (
        ChangeFacts(MERGE_ON_READ, 1, key=key),
        ChangeFacts(Mode("write.merge.mode", "auto", True), 2, key=key),
        ChangeFacts(MERGE_ON_READ, 2, key=replace(key, in_order=False)),
        ChangeFacts(MERGE_ON_READ, 2, key=replace(key, compares_stored=True)),
    ):
        assert plan_distinct_keys(facts, DEFAULT) is None


def test_rows_that_are_added() -> None:
    assert plan_insert(DEFAULT, is_given=True).writer.given
    assert not plan_insert(Planning.of({"sqlext.plan.force": "tasks"}), is_given=True).writer.given
    assert plan_insert(DEFAULT).writer.reads_files
    assert not plan_insert(Planning.of({"sqlext.plan.force": "source-by-query"})).writer.reads_files
    assert "enforced" in plan_insert(DEFAULT, is_enforced=True).reason


def test_an_overwrite_is_planned_as_its_mode_says() -> None:
    for way in (Way.OVERWRITE, Way.OVERWRITE_PARTITIONS, Way.OVERWRITE_WHERE):
        first, second = plan_insert(DEFAULT, way).lines()
        assert first.startswith(f"{way.value}: ")
        assert second.startswith("  written by the driver")


@pytest.mark.parametrize(
    ("facts", "forced", "on_driver"),
    [
        ({}, "", True),
        ({"bytes": 256 * 2**20, "largest": 256 * 2**20}, "", True),
        ({"bytes": 256 * 2**20 + 1}, "", False),
        ({"bytes": 256 * 2**20 + 1}, "driver", True),
        ({"largest": 64 * 2**20, "sorts": True}, "", True),
        ({"largest": 64 * 2**20 + 1, "sorts": True}, "", False),
        ({"readable": False}, "", False),
        ({"readable": False}, "driver", False),
        ({}, "tasks", False),
    ],
)
def test_the_driver_compacts_what_it_has_room_for(facts: dict[str, Any], forced: str, on_driver: bool) -> None:
    given = {"bytes": 1, "largest": 1, "sorts": False, "readable": True, **facts}
    readable = given.pop("readable")
    compaction = CompactionFacts(**given, is_readable=lambda: readable)
    writer = plan_compaction(compaction, Planning.of({"sqlext.plan.force": forced}))
    assert bool(writer.most_bytes) is on_driver


def test_files_are_not_looked_at_for_a_compaction_that_is_too_large() -> None:
    def never() -> bool:
        raise AssertionError("the files are looked at")

    assert not plan_compaction(CompactionFacts(2**40, 2**40, False, never), DEFAULT).most_bytes


@pytest.mark.parametrize("text", ["joins", "driver,tasks", "merge-on-read;tasks"])
def test_a_way_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(AnalysisError, match="look-up, copy-on-write") as refusal:
        Planning.of({"sqlext.plan.force": text})
    assert refusal.value.condition == "SETTING_INVALID"


def test_settings_replace_thresholds() -> None:
    given = {"sqlext.plan.driver-rows": "7", "sqlext.plan.rewritten-share": "0.5"}
    assert Thresholds.of(given) == replace(Thresholds(), driver_rows=7, rewritten_share=0.5)
    with pytest.raises(AnalysisError, match="driver-rows"):
        Planning.of({"sqlext.plan.driver-row": "7"})
    for name, texts in (
        ("driver-bytes", ("-1", "many", "", "0.5", "1e9")),
        ("rewritten-share", ("-0.1", "nan", "inf", "2")),
    ):
        for text in texts:
            with pytest.raises(AnalysisError, match=rf"sqlext\.plan\.{name}") as refusal:
                Thresholds.of({f"sqlext.plan.{name}": text})
            assert refusal.value.condition == "SETTING_INVALID"
