"""convert_equality_deletes: all engines read the same rows before and after, PyIceberg those it could not before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judges.judged import Judged
from judges.pyiceberg_judge import latest_metadata, read_rows
from small_tables import files_below
from sqlext.command import environment

UPSERT = """
MERGE INTO {table} AS t USING (SELECT * FROM VALUES {rows} AS s(id, kind, amount)) AS s
ON t.id = s.id AND t.kind = s.kind
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""


def convert(judged: Judged, place: str = "", more: str = "") -> tuple[int, ...]:
    statement = f"CALL sqlext.system.convert_equality_deletes(table => '{judged.table}{place}'{more})"
    return tuple(judged.spark.sql(statement).collect()[0])


def read_by_pyiceberg(judged: Judged) -> list[list[object]] | None:
    return read_rows(latest_metadata(judged.warehouse.joinpath(*judged.table.split(".")[1:])))


@pytest.mark.parametrize("version", [2, 3])
def test_upserts_and_deletes_of_a_partitioned_table(judged: Judged, version: int) -> None:
    judged.run(
        "CREATE TABLE {table} (id INT, kind STRING, amount INT, PRIMARY KEY (id, kind)) PARTITIONED BY (kind)"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.upsert.mode'='equality',"
        " 'write.delete.mode'='merge-on-read')"
    )
    judged.run("INSERT INTO {table} VALUES (1, 'a', 1), (2, 'a', 2), (3, 'a', 3), (1, 'b', 1), (2, 'b', 2)")
    assert convert(judged) == (0, 0, 0)
    judged.run(UPSERT.replace("{rows}", "(1, 'a', 10), (2, 'b', 20), (7, 'c', 70)"))
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 2 AND kind = 'a'")
    judged.run(UPSERT.replace("{rows}", "(1, 'a', 100), (2, 'a', 200)"))
    assert read_by_pyiceberg(judged) is None
    before = judged.iceberg.sql(f"SELECT * FROM {judged.table}")
    converted, added, dropped = convert(judged)
    # c has no row that is older
    assert (converted, dropped) == (3, 1)
    assert added == (3 if version == 3 else 2)
    assert read_by_pyiceberg(judged) == before
    judged.check()
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 3")
    judged.run(UPSERT.replace("{rows}", "(1, 'a', 1000), (3, 'a', 3)"))
    assert convert(judged)[0] == 1
    judged.check()


def test_a_branch(judged: Judged) -> None:
    judged.run(
        "CREATE TABLE {table} (id INT, kind STRING, amount INT, PRIMARY KEY (id, kind))"
        " TBLPROPERTIES ('format-version'='3', 'write.upsert.mode'='equality')"
    )
    judged.run("INSERT INTO {table} VALUES (1, 'a', 1), (2, 'a', 2)")
    judged.run(UPSERT.replace("{rows}", "(1, 'a', 10)"))
    judged.run("ALTER TABLE {table} CREATE BRANCH audit")
    main = judged.iceberg.sql(f"SELECT * FROM {judged.table}")
    assert convert(judged, more=", branch => 'audit'") == (1, 1, 0)
    assert read_by_pyiceberg(judged) is None
    audit = f"SELECT * FROM {judged.table} VERSION AS OF 'audit'"
    assert judged.iceberg.sql(audit) == main
    assert convert(judged, place=".branch_audit") == (0, 0, 0)
    assert convert(judged) == (1, 1, 0)
    judged.check()


def test_a_condition_leaves_other_files_unread(judged: Judged) -> None:
    """The data file elsewhere is gone for the time: a conversion that looked into it would fail."""
    judged.run(
        "CREATE TABLE {table} (id INT, kind STRING, amount INT, PRIMARY KEY (id, kind)) PARTITIONED BY (kind)"
        " TBLPROPERTIES ('format-version'='3', 'write.upsert.mode'='equality')"
    )
    judged.run("INSERT INTO {table} VALUES (1, 'a', 1), (2, 'a', 2), (1, 'b', 1), (2, 'b', 2)")
    judged.run("INSERT INTO {table} VALUES (101, 'a', 1), (102, 'a', 2)")
    judged.run(UPSERT.replace("{rows}", "(1, 'a', 10), (2, 'b', 20)"))
    read = judged.spark.sql(f"SELECT DISTINCT _file FROM {judged.table} WHERE kind = 'b' OR id > 100").collect()
    hidden = [Path(row[0].removeprefix("file:")) for row in read]
    for path in hidden:
        path.rename(f"{path}.away")
    assert convert(judged, more=", where => \"kind = 'a'\"") == (1, 1, 0)
    for path in hidden:
        Path(f"{path}.away").rename(path)
    judged.check()
    assert convert(judged) == (1, 1, 0)
    judged.check()


def test_writes_of_others_meanwhile(judged: Judged, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upsert lands beside a conversion; after the rewrite of a file with rows that it marks it runs again."""
    judged.run(
        "CREATE TABLE {table} (id INT, kind STRING, amount INT, PRIMARY KEY (id, kind))"
        " TBLPROPERTIES ('write.upsert.mode'='equality')"
    )
    judged.run("INSERT INTO {table} VALUES (1, 'a', 1), (2, 'a', 2), (3, 'a', 3)")
    judged.run(UPSERT.replace("{rows}", "(1, 'a', 10)"))
    commit = environment.commit

    def overtaken_by(statement: str) -> None:
        def commit_behind(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(environment, "commit", commit)
            judged.run(statement)
            return commit(*arguments, **options)

        monkeypatch.setattr(environment, "commit", commit_behind)

    overtaken_by(UPSERT.replace("{rows}", "(2, 'a', 20), (1, 'a', 11)"))
    assert convert(judged) == (1, 1, 0)
    judged.check()
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('write.update.mode'='copy-on-write')")
    overtaken_by("UPDATE {table} SET amount = 30 WHERE id = 3")
    before = files_below(warehouse.joinpath(*judged.table.split(".")[1:], "data"))
    assert convert(judged)[0] == 1
    after = files_below(warehouse.joinpath(*judged.table.split(".")[1:], "data"))
    assert len(after - before) == 2, "the file of the update, and position deletes of the second run"
    judged.check()
