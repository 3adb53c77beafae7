"""Answers that are given again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sqlext.errors import NotFoundError
from sqlext.spark.catalogs import Catalogs
from sqlext.spark.kept_answers import KeptAnswers
from sqlext.spark.table_handle import TableHandle
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.table_metadata import new_table_metadata
from sqlext.storage.file_io import LocalFileIO
from unit.scan.small_table import SCHEMA

METADATA = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "/t", {}, 2, "uuid", 0)
TABLE = TableHandle(None, (), "t", "/t/v1.metadata.json", "uuid").encode()


class Asked:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        self.times += 1
        if arguments.get("fails"):
            raise NotFoundError("CATALOG_NOT_FOUND", name="lake")
        return {"files": arguments["files"], "answer": self.times}


@pytest.fixture
def catalogs() -> Catalogs:
    made = Catalogs(lambda name, options: pytest.fail(name), LocalFileIO())
    made.remember("/t/v1.metadata.json", METADATA)
    return made


def ask(kept: KeptAnswers, files: list[str]) -> Any:
    return json.loads(kept({"table": TABLE, "files": files}))


def test_the_same_question_is_asked_once(catalogs: Catalogs) -> None:
    kept = KeptAnswers(Asked(), catalogs)
    answers = [ask(kept, files) for files in (["a"], ["b"], ["a"], ["b"])]
    assert answers == [{"files": ["a"], "answer": 1}, {"files": ["b"], "answer": 2}] * 2


def test_a_table_registered_anew_under_its_old_name_is_asked_again(catalogs: Catalogs) -> None:
    kept = KeptAnswers(Asked(), catalogs)
    assert ask(kept, ["a"])["answer"] == 1
    catalogs.remember("/t/v1.metadata.json", replace(METADATA, last_updated_ms=1))
    assert ask(kept, ["a"])["answer"] == 2


def test_what_does_not_fit_is_asked_again(catalogs: Catalogs) -> None:
    kept = KeptAnswers(Asked(), catalogs, capacity=200)
    assert [ask(kept, ["f" * 200])["answer"] for _ in range(2)] == [1, 2]


def test_errors_are_not_kept(catalogs: Catalogs) -> None:
    question = Asked()
    kept = KeptAnswers(question, catalogs)
    for _ in range(2):
        with pytest.raises(NotFoundError):
            kept({"table": TABLE, "fails": True})
    assert question.times == 2
