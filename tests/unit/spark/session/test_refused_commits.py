"""What is kept of refused commits for EXPLAIN COMMIT."""

from __future__ import annotations

from sqlext.spark.session.refused_commits import RefusedCommit, RefusedCommits, statement_text


def refused(text: str) -> RefusedCommit:
    return RefusedCommit(text, "lake.db.t", [("lake", "db", "t")], 1, "WRITE_CONFLICT", "it was refused", None)


def test_the_last_one_of_each_session_is_kept() -> None:
    kept = RefusedCommits()
    assert kept.last("a") is None
    for session, text in (("a", "first"), ("b", "other"), ("a", "second")):
        kept.keep(session, refused(text))
    assert [one.statement for one in map(kept.last, "ab") if one is not None] == ["second", "other"]


def test_sessions_of_long_ago_are_forgotten() -> None:
    kept = RefusedCommits()
    for number in range(1_100):
        kept.keep(str(number), refused(str(number)))
    assert kept.last("0") is None
    assert kept.last("1099") is not None
    assert sum(kept.last(str(number)) is not None for number in range(1_100)) == 1_000


def test_a_long_statement_is_cut() -> None:
    assert statement_text("SELECT 1") == "SELECT 1"
    assert len(statement_text("x" * 1_000_000)) == 2_001
