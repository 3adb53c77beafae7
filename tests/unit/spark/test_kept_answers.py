"""Answers that are given again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from sqlext.errors import NotFoundError
from sqlext.spark.kept_answers import KeptAnswers


class Asked:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        self.times += 1
        if arguments.get("fails"):
            raise NotFoundError("CATALOG_NOT_FOUND", name="lake")
        return {"files": arguments["files"]}


def test_the_same_question_is_asked_once() -> None:
    question = Asked()
    kept = KeptAnswers(question)
    for files in (["a"], ["b"], ["a"], ["b"]):
        assert json.loads(kept({"files": files, "limit": None})) == {"files": files}
    assert question.times == 2


def test_what_does_not_fit_is_asked_again() -> None:
    question = Asked()
    kept = KeptAnswers(question, capacity=200)
    for _ in range(2):
        assert json.loads(kept({"files": ["f" * 100]})) == {"files": ["f" * 100]}
    assert question.times == 2


def test_errors_are_not_kept() -> None:
    question = Asked()
    kept = KeptAnswers(question)
    for _ in range(2):
        with pytest.raises(NotFoundError):
            kept({"fails": True})
    assert question.times == 2
