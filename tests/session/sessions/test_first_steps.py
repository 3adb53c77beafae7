"""The examples of docs/first-steps.md run, in order, and then its commands."""

from __future__ import annotations

import doctest
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from code_blocks import code_blocks
from unit.terminal.command_line import CommandLine

PAGE = Path(__file__).resolve().parents[3] / "docs" / "first-steps.md"


def test_the_examples_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 20
    assert failed == 0
    (console,) = code_blocks("docs/first-steps.md", "console")
    catalog, *commands = console.text.removeprefix("$ ").split("\n$ ")
    run = CommandLine(monkeypatch, capsys, catalog.removeprefix("export SQLEXT_CATALOG="))
    for command in commands:
        assert "added rows" in run(*shlex.split(command)[1:]).out
    spark.sql("DROP TABLE store.db.orders PURGE")
