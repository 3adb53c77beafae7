"""`sqlext describe`, `history` and `health`: the facts of a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlext.command.doctor.care_plan import health
from sqlext.description.described_table import describe_table, history
from sqlext.description.table_facts import (
    Commit,
    Description,
    bytes_told,
    class_told,
    count_told,
    key_told,
    plural_told,
)
from sqlext.terminal.named_catalog import NamedTable
from sqlext.terminal.output import print_facts, print_json, print_line, print_rows
from sqlext.terminal.read_state import state_of

_BAR = 24
_HEAD = 15


def print_description(named: NamedTable, now_ms: int, commits: int, *, as_json: bool) -> None:
    """All that is known of a table, with its newest `commits` snapshots. Raises errors of reading."""
    described = describe_table(named.name, named.catalog, named.table, state_of(named), now_ms, commits)
    if as_json:
        print_json(described.to_json())
        return
    _print_head(described)
    _print_columns(described)
    if described.settings:
        rows = [(one.name, one.value, one.words) for one in described.settings]
        print_rows(("property", "value", "what it does"), rows, title="Properties")
    _print_commits(described.commits, described.commit_count, title="Timeline")
    _print_sizes(described)
    due = [one for one in described.care if one.count != 0]
    if not due:
        print_line("")
        print_line("Care has nothing to do")
        return
    print_rows(
        ("task", "now", "bytes", "how"),
        [(one.name, one.counted, bytes_told(one.bytes), one.words) for one in due],
        right=("now", "bytes"),
        title="What care would do",
    )


def print_history(named: NamedTable, most: int | None, *, as_json: bool) -> None:
    """The newest snapshots, newest first."""
    commits = history(named.metadata, most)
    if as_json:
        left = len(named.metadata.snapshots) - len(commits)
        print_json({"table": named.name, "snapshots": [asdict(one) for one in commits], "left_out": left})
        return
    _print_commits(commits, len(named.metadata.snapshots))


def print_health(named: NamedTable, now_ms: int, *, as_json: bool) -> None:
    """The measures of CALL health. Raises errors of reading."""
    found = health(named.catalog, named.table, state_of(named), now_ms)
    if as_json:
        rows = [{"measure": one.name, "value": one.value, "bytes": one.bytes, "about": one.about} for one in found]
        print_json({"table": named.name, "measures": rows})
        return
    print_rows(
        ("measure", "value", "bytes", "about"),
        [(one.name, count_told(one.value), bytes_told(one.bytes), one.about) for one in found],
        right=("value", "bytes"),
    )


def print_left_out(shown_count: int, count: int, what: str) -> None:
    """Says how many of `count` things are not shown, if any."""
    if shown_count < count:
        print_line(f"{count - shown_count:,} of {count:,} {what} are left out; --limit 0 shows all", "dim")


def _print_head(described: Description) -> None:
    contents = described.contents
    dead = "none"
    if contents.dead_rows:
        dead = f"{contents.dead_rows_told} deleted by position, still stored"
    if contents.deleted_keys:
        dead = f"{dead}; " if contents.dead_rows else ""
        dead += f"{plural_told(contents.deleted_keys, 'key')} deleted by equality"
    files = plural_told(contents.data_files, "file")
    lines = [
        ("table", described.name),
        ("comment", described.comment),
        ("rows", contents.live_rows_told),
        ("dead rows", dead),
        ("data", f"{files}, {bytes_told(contents.bytes)}, {plural_told(contents.partitions, 'partition')}"),
        ("key", key_told(described)),
        ("partitioned by", ", ".join(described.partitioned_by) or "nothing"),
        ("ordered by", ", ".join(described.ordered_by) or None),
        ("format", f"Iceberg, version {described.format_version}"),
        ("snapshot", described.snapshot_id or "none yet"),
        ("last change", described.updated_at),
        ("location", described.location),
        *((one.kind, f"{one.name} at {one.snapshot_id}") for one in described.references if one.name != "main"),
    ]
    print_facts(((name, value) for name, value in lines if value is not None), width=_HEAD)


def _print_columns(described: Description) -> None:
    rows = [
        (
            one.name,
            one.type,
            "key" if one.in_key else "",
            "NOT NULL" if one.required else "",
            one.default,
            one.comment,
        )
        for one in described.columns
    ]
    print_rows(("column", "type", "key", "null", "default", "comment"), rows, title="Columns")
    if described.checks:
        checks = [(one.name, one.expression) for one in described.checks]
        print_rows(("check", "condition"), checks, title="Constraints")


def _print_commits(commits: Sequence[Commit], count: int, title: str = "") -> None:
    if not commits:
        if title:
            print_line("")
        print_line(f"{title}: no snapshots yet" if title else "no snapshots yet")
        return
    rows = [
        (
            one.committed_at,
            one.snapshot_id,
            one.by,
            one.what,
            count_told(one.rows_in),
            count_told(one.rows_out) + (f" + {one.keys_out:,} keys" if one.keys_out else ""),
            f"+{one.files_in} -{one.files_out}",
            ", ".join(one.references) or ("" if one.is_ancestor else "not in main"),
        )
        for one in commits
    ]
    columns = ("when", "snapshot", "who", "what", "rows in", "rows out", "files", "at")
    print_rows(columns, rows, right=("rows in", "rows out", "files"), title=title)
    print_left_out(len(commits), count, "snapshots")


def _print_sizes(described: Description) -> None:
    sizes = described.contents.sizes
    if not sizes:
        return
    most = max(one.files for one in sizes)
    rows = [
        (class_told(one), count_told(one.files), bytes_told(one.bytes), "█" * -(-one.files * _BAR // most))
        for one in sizes
    ]
    print_rows(("size", "files", "bytes", ""), rows, right=("files", "bytes"), title="Sizes of data files")
