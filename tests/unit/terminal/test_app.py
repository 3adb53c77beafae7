"""The commands of `sqlext`: what they print for people and for programs, and how they end."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import data_file
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.storage.location import to_local_path
from sqlext.version import __version__
from unit.command.lake import Lake
from unit.terminal.command_line import CommandLine

METADATA_COMMANDS = ("tables", "describe", "history", "health", "files", "fsck", "changes", "cat")


def test_tables_are_listed_with_their_namespaces(run: CommandLine) -> None:
    assert run("tables", "--json").document == [
        {"name": "db.empty", "kind": "table"},
        {"name": "db.orders", "kind": "table"},
    ]
    assert run("tables", "lake.db").out.split() == ["name", "kind", "db.empty", "table", "db.orders", "table"]
    (empty, orders) = run("tables", "-l", "--json").document
    assert (empty["snapshots"], empty["rows"]) == (0, None)
    assert (orders["snapshots"], orders["rows"], orders["format_version"]) == (3, 4, 3)
    assert "SCHEMA_NOT_FOUND" in run("tables", "nowhere", code=1).error


def test_rows_that_spark_alone_reads_are_refused(run: CommandLine, lake: Lake) -> None:
    table = lake.create("CREATE TABLE foreign_rows (id BIGINT)")
    file = replace(data_file(table.metadata, [1]), file_format="ORC")
    lake.commit(AppendFiles([file]), "foreign_rows")
    assert "ROWS_NEED_SPARK" in run("cat", "db.foreign_rows", code=1).error


def test_a_damaged_table_does_not_keep_others_from_being_listed(run: CommandLine, lake: Lake) -> None:
    Path(to_local_path(lake.load("orders").metadata_location)).write_text("{")
    empty, orders = run("tables", "--details", "--json").document
    assert empty["error"] is None
    assert orders["error"].startswith("CORRUPT_FILE")


def test_a_table_is_described(run: CommandLine) -> None:
    told = run("describe", "db.orders").out
    for said in (
        "lake.db.orders",
        "1 deleted by position",
        "id, day (not enforced",
        "`day`",
        "NOT NULL",
        "unique",
        "Timeline",
        "of them",
    ):
        assert said in told
    document = run("describe", "lake.db.orders", "--json", "--limit", "2").document
    assert [one["what"] for one in document["commits"]] == ["deleted rows", "added rows"]
    assert document["commit_count"] == 3
    assert document["contents"]["dead_rows"] == 1
    assert "\n\nTimeline: no snapshots yet\n" in run("describe", "db.empty").out


def test_an_earlier_version_is_chosen_by_id_branch_tag_or_time(run: CommandLine, lake: Lake) -> None:
    first, second, _ = lake.load("orders").metadata.snapshots
    lake.commit(CreateReference("old", "tag", first.snapshot_id), "orders")
    rows = {
        choice: len(run("cat", "db.orders", "--json", *choice).document["rows"])
        for choice in (
            ("--version", str(first.snapshot_id)),
            ("--version", "old"),
            ("--version", "main"),
            ("--at", _moment(second.timestamp_ms)),
        )
    }
    assert list(rows.values()) == [2, 2, 3, 4]
    assert "SNAPSHOT_NOT_FOUND" in run("cat", "db.orders", "--version", "nope", code=1).error
    assert "no time" in run("cat", "db.orders", "--at", "noon", code=2).error
    assert "not by both" in run("cat", "db.orders", "--at", "2026-01-01", "--version", "old", code=2).error
    before = run("cat", "db.orders", "--at", "1999-01-01", code=1).error
    assert before.startswith("SNAPSHOT_NOT_FOUND: The snapshot as of 1999-01-01T00:00:00 UTC of lake.db.orders cannot")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("1999-01-01", "1999-01-01T00:00:00"),
        ("1999-01-01 12:30", "1999-01-01T12:30:00"),
        ("1999-01-01T12:30:00Z", "1999-01-01T12:30:00"),
        ("1999-01-01T12:30:00.5Z", "1999-01-01T12:30:00.5"),
        ("1999-01-01T12:30:00.123456789", "1999-01-01T12:30:00.123"),
        ("1999-01-01 00:30:00+02:00", "1998-12-31T22:30:00"),
        ("1999-01-01T12:30:00.25-05:30", "1999-01-01T18:00:00.25"),
    ],
)
def test_times_are_read_alike_on_all_pythons(run: CommandLine, given: str, read: str) -> None:
    assert f"The snapshot as of {read} UTC of" in run("cat", "db.orders", "--at", given, code=1).error


@pytest.mark.parametrize(
    "given", ["", "noon", "12:30", "1999-02-30", "19990101", "1999-W01-1", "1999-01-01T", "1999-01-01T25:00"]
)
def test_what_is_no_time_is_told(run: CommandLine, given: str) -> None:
    assert "no time" in run("cat", "db.orders", "--at", given, code=2).error


def test_a_version_ends_a_name_as_in_sql(run: CommandLine, lake: Lake) -> None:
    first, second, _ = lake.load("orders").metadata.snapshots
    lake.commit(CreateReference("old", "tag", first.snapshot_id), "orders")
    lake.commit(CreateReference("a.b", "branch", first.snapshot_id), "orders")
    endings = {
        "tag_old": 2,
        "`branch_a.b`": 2,
        "branch_main": 3,
        f"snapshot_id_{second.snapshot_id}": 4,
        f"at_timestamp_{second.timestamp_ms}": 4,
    }
    for ending, count in endings.items():
        name = f"lake.db.orders.{ending}"
        assert len(run("cat", name, "--json").document["rows"]) == count
        assert run("describe", name, "--json").document["snapshot_id"] is not None
        assert run("files", name, "--json").document["table"] == "lake.db.orders"
    assert len(run("changes", "db.orders.tag_old", "--json").document["changes"]) == 2
    assert "already" in run("cat", "db.orders.tag_old", "--version", "main", code=2).error
    for missing in ("branch_old", "tag_nope"):
        assert run("cat", f"db.orders.{missing}", code=1).error.startswith("REFERENCE_NOT_FOUND: ")
    assert run("cat", "db.orders.snapshots", code=1).error.startswith("TABLE_OR_VIEW_NOT_FOUND: ")


def test_history_tells_who_what_and_rows(run: CommandLine) -> None:
    document = run("history", "db.orders", "--json").document
    assert document["left_out"] == 0
    assert [(one["rows_in"], one["rows_out"]) for one in document["snapshots"]] == [(0, 1), (2, 0), (2, 0)]
    assert "2 of 3 snapshots are left out" in run("history", "db.orders", "-n", "1").out


def test_files_are_limited_and_what_is_left_out_is_said(run: CommandLine) -> None:
    kinds = [one["kind"] for one in run("files", "db.orders", "--json").document["files"]]
    assert sorted(kinds) == ["data", "data", "deletion vector"]
    limited = run("files", "db.orders", "--limit", "1", "--json").document
    assert (len(limited["files"]), limited["left_out"]) == (1, 2)
    assert "2 of 3 files are left out" in run("files", "db.orders", "-n", "1").out
    assert "day=2026-01-01" in run("files", "db.orders", "--limit", "0").out
    assert run("files", "db.empty", "--json").document["files"] == []


def test_a_partition_has_its_fields_in_their_order(run: CommandLine, lake: Lake) -> None:
    lake.create("CREATE TABLE parts (id BIGINT, who STRING) PARTITIONED BY (bucket(3, id), who)")
    lake.append("parts", id=[1], who=["ada"])
    (told,) = run("files", "db.parts", "--json").document["files"]
    assert re.fullmatch(r"id_bucket=[0-2]/who=ada", told["partition"])


def test_health_has_the_measures_and_what_care_would_do(run: CommandLine) -> None:
    measures = {one["measure"]: one for one in run("health", "db.orders", "--json").document["measures"]}
    assert measures["rows deleted by position"]["value"] == 1
    assert "full compaction" in measures
    assert measures["snapshots"]["about"] == "the oldest of 2023-11-14T22:13:20.007Z"


def test_rows_are_shown_without_the_deleted_ones(run: CommandLine) -> None:
    document = run("cat", "db.orders", "--json").document
    assert sorted(row["id"] for row in document["rows"]) == [0, 10, 11]
    assert document["rows"][0] | {"id": 0} == {
        "id": 0,
        "who": "ada",
        "amount": "1.50",
        "day": document["rows"][0]["day"],
        "tags": ["a", "b"],
    }
    assert document["is_all"]
    told = run("cat", "db.orders", "--columns", "WHO,id", "-n", "1").out
    assert told.splitlines()[0].split() == ["who", "id"]
    assert "more rows are left out" in told
    assert "UNRESOLVED_COLUMN" in run("cat", "db.orders", "--columns", "nope", code=1).error


def test_changes_are_those_of_each_snapshot_or_the_difference(run: CommandLine, lake: Lake) -> None:
    lake.upsert("orders", id=[10], who=["eve"], day=[_day(lake)])
    first, *_ = lake.load("orders").metadata.snapshots
    each = run("changes", "db.orders", "--json").document["changes"]
    assert [one["_change_type"] for one in each].count("INSERT") == 4
    assert [(one["_change_type"], one["id"]) for one in each if one["_change_ordinal"] == 2] == [("DELETE", 1)]
    kinds = {(one["_change_type"], one["who"]) for one in each if one["_change_ordinal"] == 3}
    assert kinds == {("UPDATE_BEFORE", "ada"), ("UPDATE_AFTER", "eve")}
    net = run("changes", "db.orders", "--from", str(first.snapshot_id), "--net", "--json").document["changes"]
    assert sorted((one["_change_type"], one["id"]) for one in net) == [("DELETE", 1), ("INSERT", 10), ("INSERT", 11)]
    assert {tuple(one["tags"] or ()) for one in net if one["id"] == 1} == {()}
    assert "more changes are left out" in run("changes", "db.orders", "-n", "2").out
    assert run("changes", "db.empty", "--json").document["changes"] == []


def test_the_two_rows_of_an_update_follow_each_other(run: CommandLine, lake: Lake) -> None:
    *_, last = lake.load("orders").metadata.snapshots
    lake.upsert("orders", id=[11, 10], who=["max", "eve"], day=[_day(lake), _day(lake)])
    net = run("changes", "db.orders", "--from", str(last.snapshot_id), "--net", "--json").document["changes"]
    assert [one["_change_type"] for one in net] == ["UPDATE_BEFORE", "UPDATE_AFTER"] * 2
    assert [one["id"] for one in net] in ([10, 10, 11, 11], [11, 11, 10, 10])


def test_damage_is_found_with_an_exit_code_and_mended(run: CommandLine, lake: Lake) -> None:
    assert run("fsck").out.strip() == "nothing is wrong"
    snapshot = lake.load("orders").metadata.current_snapshot()
    assert snapshot is not None
    path = Path(to_local_path(snapshot.manifest_list))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    found = run("fsck", "db.orders", "--json", code=1).document
    assert {one["severity"] for one in found} == {"error"}
    mended = run("fsck", "db.orders", "--repair", "--json", code=1).document
    assert mended[0]["repair"]
    assert run("fsck", "--data-files").out.strip() == "nothing is wrong"


def test_a_table_is_named_by_its_folder_or_metadata_file(run: CommandLine, lake: Lake) -> None:
    loaded = lake.load("orders")
    for place in (loaded.metadata.location, to_local_path(loaded.metadata.location), loaded.metadata_location):
        assert len(run("cat", place, "--json").document["rows"]) == 3
    assert run("fsck", loaded.metadata.location).out.strip() == "nothing is wrong"
    assert run("describe", loaded.metadata.location, "--json").document["contents"]["data_files"] == 2
    assert "NO_TABLE_AT_LOCATION" in run("describe", "./nowhere", code=1).error


def test_errors_are_one_line_and_no_traceback(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = run("describe", "db.nope", code=1)
    assert missing.error.startswith("TABLE_OR_VIEW_NOT_FOUND: ")
    assert len(missing.error.splitlines()) == 1
    assert missing.out == ""
    assert "INVALID_NAME" in run("describe", "nope", code=1).error
    assert "Missing argument" in run("describe", code=2).error
    assert "No such command" in run("frobnicate", code=2).error
    assert "there is no" in run("tables", "-c", "/nowhere/at/all", code=2).error
    assert "key=value" in run("tables", "-o", "warehouse", code=2).error
    assert "CATALOG_OPTION_REFUSED" in run("tables", "-o", "warehuose=x", code=1).error
    monkeypatch.delenv("SQLEXT_CATALOG")
    assert "SQLEXT_CATALOG" in run("tables", code=2).error


def test_help_tells_each_command_to_its_end_and_the_version(run: CommandLine) -> None:
    told = run("--help").out
    assert all(f"  {command} " in told for command in (*METADATA_COMMANDS, "sql"))
    assert "..." not in told.partition("Commands:")[2]
    assert run("--version").out == f"sqlext {__version__}\n"


def test_columns_are_named_as_in_sql(run: CommandLine, lake: Lake) -> None:
    lake.create("CREATE TABLE odd (id BIGINT, `a.b` STRING, `c,d` INT, `e``f` INT)")
    lake.append("odd", **{"id": [1], "a.b": ["x"], "c,d": [2], "e`f": [3]})
    asked = run("cat", "db.odd", "--json", "--columns", "`c,d`, a.b, `e``f`, ID").document["rows"]
    assert [list(row.items()) for row in asked] == [[("c,d", 2), ("a.b", "x"), ("e`f", 3), ("id", 1)]]
    assert "UNRESOLVED_COLUMN" in run("cat", "db.odd", "--columns", "`a`", code=1).error
    assert "twice" in run("cat", "db.odd", "--columns", "id,ID", code=2).error
    for broken in ("`a.b", "id,,id", "`a.b`c"):
        assert "separated by commas" in run("cat", "db.odd", "--columns", broken, code=2).error


def test_a_name_cannot_give_orders_to_the_terminal(run: CommandLine, lake: Lake) -> None:
    lake.create("CREATE TABLE odd (`a\x1b[31m` STRING COMMENT 'x\x07')")
    lake.append("odd", **{"a\x1b[31m": ["\x1b[2J[bold]v"]})
    for command in ("describe", "cat", "changes"):
        told = run(command, "db.odd").out
        assert "\x1b" not in told
        assert "\x07" not in told
    assert "\\x1b[2J[bold]v" in run("cat", "db.odd").out


def test_a_name_with_dots_is_in_backticks(run: CommandLine, lake: Lake) -> None:
    lake.create("CREATE TABLE `a.b` (id BIGINT)")
    assert run("describe", "db.`a.b`", "--json").document["name"] == "lake.db.`a.b`"
    assert "INVALID_NAME" in run("describe", "db.`a.b`c", code=1).error


@pytest.mark.parametrize("command", METADATA_COMMANDS)
def test_no_look_imports_pyspark_or_a_parser(command: str, run: CommandLine, tmp_path: Path) -> None:
    """They take most of the time that a command has."""
    arguments = [command] if command in ("tables", "fsck") else [command, "db.orders"]
    script = (
        "import sys\nfrom sqlext.terminal.app import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        "sys.exit(', '.join(one for one in ('pyspark', 'py4j', 'sqlglot', 'polars', 'matplotlib', 'pydantic') "
        "if one in sys.modules))"
    )
    environment = {**os.environ, "SQLEXT_CATALOG": str(tmp_path / "warehouse")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert done.stderr == "\n", done.stderr


def test_what_a_command_does_not_show_it_does_not_import(tmp_path: Path) -> None:
    """The imports of all commands are half of the time that a list of tables takes."""
    script = (
        "import sys\nfrom sqlext.terminal.app import app\n"
        "app(['tables'], standalone_mode=False)\n"
        "read = ('sqlext.scan', 'sqlext.command', 'sqlext.commit', 'sqlext.write', 'sqlext.sql', 'pyarrow.compute')\n"
        "print(sorted(one for one in sys.modules if one.startswith(read)))"
    )
    environment = {**os.environ, "SQLEXT_CATALOG": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == ["no tables", "[]"]


def _moment(milliseconds: int) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc).isoformat()


def _day(lake: Lake) -> object:
    return datetime.date(2026, 1, 2)
