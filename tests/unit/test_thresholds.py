"""docs/plans.md has every threshold as the code has it, and no other number in the code decides a plan."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

from sqlext.thresholds import Thresholds, setting

COMMANDS = Path(__file__).resolve().parents[2] / "sqlext" / "command"
NO_THRESHOLDS = {
    # what a message shows
    "alter_constraint._SHOWN_COLUMNS",
    "explained_contention._MOST_NAMED",
    "explained_files._MOST_TABLES",
    "row_change._NAMED_ROWS",
    "branch_merging._NAMED_ROWS",
    "branch_merging._LISTED_ROWS",
    "undo._NAMED_ROWS",
    "care_tasks._MOST_TOLD",
    # what is told after a refused commit
    "contested_keys._MOST_ROWS",
    "contested_keys._MOST_VALUES",
    "contested_keys._MOST_BYTES",
    # when rows are given up that come in another order than was planned
    "completed_rows._MOST_REPEATS",
    # when and how files are removed, which no change waits for
    "care.COMPACTION_PAUSE_MS",
    "care.EXPIRY_PAUSE_MS",
    "expiry_due._FEWEST",
    "care.FIRST_COMMITS",
    "expiry_due._PART",
    "care._PAUSE_S",
    "care._THREADS",
    "orphan_files.LEAST_AGE_MS",
    "other_tables._HEAD_BYTES",
    # of a repair
    "repair._MOST_TEXT",
    "repair._MOST_SHOWN",
    "rebuilt_manifest._MOST_SETS",
    "matching_sets._MOST_STATES",
    "remade_table._BEGINNING_BYTES",
    "found_partitioning._LARGEST_PARAMETER",
    "found_partitioning._MOST_TRIED",
    # waits, and tries of what a conflict ended
    "compaction._TRIES",
    "rerun._RERUNS_AT_ONCE",
    "rerun_limit._RERUNS",
    "rerun_limit._SECONDS",
    "write_operation._PAUSE_S",
    # memory
    "rewrite_part._BATCHES_AHEAD",
    "rewrite_part._SORTED_BATCH",
    "z_order.NUMBER_BYTES",
    "z_order._ROWS",
    # units, and what a value takes
    "distribution._MICROS_PER_HOUR",
    "catalog_care._COMMIT_S",
    "catalog_care._SUPERFLUOUS_MANIFESTS",
    "expired_rows._FIRST_MILLISECONDS",
    "vacuum._HOUR_MS",
    "shallow_clone._FOREVER_MS",
    "table_statistics._COLUMNS_AT_ONCE",
    "rewrite_options._MOST",
    "rewrite_options._MOST_COMPRESSION",
    "rewritten_parts._TEXT_BYTES",
    "rewritten_parts._THREADS",
    "copied_by_query._PATHS",
    "copied_by_tasks._SPARK_SEED",
    "copied_by_tasks._PART_BYTES",
    "copied_file.PLACE_COLUMNS",
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "plans.md"


def test_the_page_has_each_threshold() -> None:
    page = PAGE.read_text()
    for one in fields(Thresholds):
        default = f"{one.default:,}" if isinstance(one.default, int) else str(one.default)
        row = f"| `{setting(one.name)}` | {default} {one.metadata['unit']} | {one.metadata['basis']} |"
        assert row in page, row
    assert page.count("| `sqlext.plan.") == len(fields(Thresholds))


def test_commands_have_no_numbers_of_their_own() -> None:
    """A number by which a change is planned belongs to `Thresholds`, where a session can set it."""
    found = set()
    for path in COMMANDS.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_number(node.value):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                found.add(f"{path.stem}.{ast.unparse(target)}")
    assert found == NO_THRESHOLDS


def _is_number(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
    return False
