"""docs/errors.md is what the conditions and the recorded results say, and shows each condition by an example."""

from __future__ import annotations

import re

import pytest

from error_examples import IN_SPARK, PROGRAMS, message, program
from error_page import DOCS, Example, conditions_without_example, recorded, sentences, written
from error_page import TESTS as TESTS_FOLDER
from recorded_errors import PROGRAMS_IN_SPARK, TESTS, TOLD, conditions_of, steady
from sqlext.error_conditions import CONDITIONS


def test_the_page_is_current() -> None:
    text = DOCS.read_text()
    assert written(text) == text, "PYTHONPATH=.:tests python3 tests/error_page.py writes it"


def test_every_condition_has_one_section() -> None:
    assert sorted(re.findall(r"^### (\S+)$", DOCS.read_text(), re.MULTILINE)) == sorted(CONDITIONS)


def test_every_condition_has_an_example() -> None:
    assert conditions_without_example() == [], "a golden statement, or what CONTRIBUTING.md says, is to end with it"


def test_every_condition_says_the_way_out() -> None:
    """In sentences behind the first one, or where a parameter tells it."""
    by_their_reason = {
        "INVALID_PARTITION_TRANSFORM",
        "INVALID_PRIMARY_KEY",
        "INVALID_VIEW",
        "PARSE_SYNTAX_ERROR",
        "RETURNING_REFUSED",
        "SCHEMA_CHANGE_REFUSED",
        "UNSUPPORTED_SYNTAX",
        "UNSUPPORTED_TYPE",
    }
    silent = {
        name
        for name, condition in CONDITIONS.items()
        if "{way_out}" not in condition.template and len(sentences(condition.template)) == 1
    }
    assert silent == by_their_reason


def test_statements_that_succeed_are_no_examples() -> None:
    text = (
        "INSERT INTO t VALUES (1);\n-- rows\n[1]\n\n"
        "-- why\nSELECT 1\nFROM x;\n-- error\n[TABLE_OR_VIEW_NOT_FOUND] No x.\n-- lowered\nSELECT\n"
    )
    assert list(recorded(text)) == [Example("SELECT 1\nFROM x;", "[TABLE_OR_VIEW_NOT_FOUND] No x.")]


@pytest.mark.parametrize("condition", PROGRAMS)
def test_a_program_ends_with_its_condition(condition: str) -> None:
    assert message(condition).startswith(f"[{condition}] ")


def test_no_condition_has_two_examples_of_its_own() -> None:
    """One that a golden statement ends with needs none, and is shown by that."""
    text = DOCS.read_text()
    own = [*PROGRAMS, *IN_SPARK, *TESTS]
    assert len(own) == len(set(own))
    assert set(own) <= CONDITIONS.keys()
    for condition in (*PROGRAMS, *IN_SPARK):
        assert program(condition) in text
    for condition, test in TESTS.items():
        section = text.partition(f"### {condition}\n")[2].partition("\n### ")[0]
        file, _, function = test.partition("[")[0].partition("::")
        assert f"](../tests/{file})" in section
        assert f"def {function}(" in (TESTS_FOLDER / file).read_text(), "a test of another name is not compared"


def test_no_recorded_message_is_left_over() -> None:
    assert set(re.findall(r'^ "(\S+)": ', TOLD.read_text(), re.MULTILINE)) == {*IN_SPARK, *TESTS}


def test_a_test_is_that_of_a_condition_whatever_its_parameters() -> None:
    assert conditions_of("tests/" + TESTS["SESSION_HAS_STREAMS"] + "[ADD JAR]") == [
        "SESSION_HAS_STREAMS",
        "SESSION_NOT_ATTACHED",
    ]
    of_a_jar = "tests/" + TESTS["SPARK_NOT_FOUND"]
    assert conditions_of(of_a_jar) == ["SPARK_NOT_FOUND"]
    assert conditions_of(of_a_jar.partition("[")[0] + "[b.jar-SPARK_NOT_FOUND]") == []
    assert conditions_of(f"tests/{PROGRAMS_IN_SPARK}[JAR_REQUIRED]") == ["JAR_REQUIRED"]


def test_what_differs_from_run_to_run_is_left_out(tmp_path: object) -> None:
    text = f"[X] lake.db.t17 of {tmp_path}/w at localhost:45123, id 3051927431180262437, at 2026-11-27 05:01:02.3"
    assert steady(text, [tmp_path]) == "[X] lake.db.t of /home/ada/w at localhost:<port>, id <id>, at <time>"
