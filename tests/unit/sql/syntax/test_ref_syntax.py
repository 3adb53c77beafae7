import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import CreateReference, DropReference, Restore, TableName

T = TableName(("lake", "db", "t"), ("t",))
DAY_MS = 86_400_000


def read(text):
    return parse(text, catalogs=("lake",), current=("lake", "db"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER TABLE t CREATE BRANCH b", CreateReference(T, "branch", "b")),
        ("alter table t create or replace tag `v 1` as of version 7;",
         CreateReference(T, "tag", "v 1", 7, or_replace=True)),
        ("ALTER TABLE t REPLACE BRANCH b RETAIN 2 HOURS",
         CreateReference(T, "branch", "b", must_exist=True, max_ref_age_ms=7_200_000)),
        ("ALTER TABLE t CREATE TAG IF NOT EXISTS v RETAIN 1 DAY",
         CreateReference(T, "tag", "v", if_not_exists=True, max_ref_age_ms=DAY_MS)),
        ("ALTER TABLE t CREATE BRANCH b WITH SNAPSHOT RETENTION 3 SNAPSHOTS",
         CreateReference(T, "branch", "b", min_snapshots_to_keep=3)),
        ("ALTER TABLE t CREATE BRANCH b WITH SNAPSHOT RETENTION 3 SNAPSHOTS 5 MINUTES",
         CreateReference(T, "branch", "b", min_snapshots_to_keep=3, max_snapshot_age_ms=300_000)),
        ("ALTER TABLE t CREATE BRANCH b WITH SNAPSHOT RETENTION 2 DAYS",
         CreateReference(T, "branch", "b", max_snapshot_age_ms=2 * DAY_MS)),
        ("ALTER TABLE t DROP BRANCH b", DropReference(T, "branch", "b")),
        ("ALTER TABLE t DROP TAG IF EXISTS v", DropReference(T, "tag", "v", if_exists=True)),
        ("RESTORE TABLE t TO VERSION AS OF 12", Restore(T, "12")),
        ("RESTORE t VERSION AS OF 'v 1'", Restore(T, "v 1")),
    ],
)  # fmt: skip
def test_statement(text, expected):
    assert read(text) == expected


def test_a_time_is_the_users_text():
    restore = read("RESTORE TABLE t TO TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY")
    assert restore.timestamp.text == "current_timestamp() - INTERVAL 1 DAY"


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t SET TBLPROPERTIES ('a'='b')",
        "ALTER TABLE other.db.t CREATE BRANCH b",
        "ALTER VIEW t AS SELECT 1",
        "ALTER TABLE spark_catalog.db.t CREATE BRANCH b",
    ],
)
def test_not_ours(text):
    assert parse(text, catalogs=("lake",), other_catalogs=("other",), current=("spark_catalog", "db")) is None


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t CREATE BRANCH",
        "ALTER TABLE t CREATE BRANCH b AS OF VERSION 'v'",
        "ALTER TABLE t CREATE BRANCH b RETAIN 3 WEEKS",
        "ALTER TABLE t CREATE BRANCH b RETAIN",
        "ALTER TABLE t CREATE BRANCH b WITH SNAPSHOT RETENTION",
        "ALTER TABLE t CREATE TAG v extra",
        "ALTER TABLE t DROP BRANCH IF EXISTS",
        "RESTORE TABLE t TO",
        "RESTORE TABLE t TO VERSION AS OF -1",
    ],
)
def test_syntax_error(text):
    with pytest.raises(ParseError):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t CREATE OR REPLACE BRANCH IF NOT EXISTS b",
        "ALTER TABLE t REPLACE TAG IF NOT EXISTS v",
        "ALTER TABLE t CREATE TAG v WITH SNAPSHOT RETENTION 3 SNAPSHOTS",
    ],
)
def test_refused(text):
    with pytest.raises(UnsupportedError):
        read(text)
