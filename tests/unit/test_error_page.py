"""docs/errors.md is what the conditions and the recorded results say."""

from __future__ import annotations

import re

from error_examples import PROGRAMS, message, program
from error_page import DOCS, Example, recorded, written
from sqlext.error_conditions import CONDITIONS


def test_the_page_is_current() -> None:
    text = DOCS.read_text()
    assert written(text) == text, "PYTHONPATH=.:tests python3 tests/error_page.py writes it"


def test_every_condition_has_one_section() -> None:
    assert sorted(re.findall(r"^### (\S+)$", DOCS.read_text(), re.MULTILINE)) == sorted(CONDITIONS)


def test_statements_that_succeed_are_no_examples() -> None:
    text = (
        "INSERT INTO t VALUES (1);\n-- rows\n[1]\n\n"
        "-- why\nSELECT 1\nFROM x;\n-- error\n[TABLE_OR_VIEW_NOT_FOUND] No x.\n-- lowered\nSELECT\n"
    )
    assert list(recorded(text)) == [Example("SELECT 1\nFROM x;", "[TABLE_OR_VIEW_NOT_FOUND] No x.")]


def test_programs_are_of_conditions_that_lack_another_example_and_end_with_them() -> None:
    text = DOCS.read_text()
    for name in PROGRAMS:
        assert name in CONDITIONS
        assert message(name).startswith(f"[{name}] ")
        assert program(name) in text
