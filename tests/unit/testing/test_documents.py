"""What docs/testing.md and the docstrings of `sqlext.testing` show is run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from types import ModuleType

import pytest

from sqlext.testing import compared_tables, faults, made_table, temporary_catalog
from sqlext.testing.simulator import simulation

pytest_plugins = ["pytester"]

_ROOT = Path(__file__).resolve().parents[3]
_FILE = re.compile(r"```python\n# (\w+\.py)[^\n]*\n(.*?)```", re.DOTALL)


def test_the_examples_of_the_page_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in Spark: tests/session/testing/test_fixtures_in_spark.py."""
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    text = (_ROOT / "docs" / "testing.md").read_text()
    files = [(name, code) for name, code in _FILE.findall(text) if "spark" not in code]
    assert len(files) == text.count("```python") - 2
    for name, code in files:
        (pytester.path / name).write_text(code)
    result = pytester.runpytest_subprocess(
        "-q", "-p", "sqlext.testing.plugin", "-p", "no:cacheprovider", "--sqlext-seeds=1"
    )
    result.assert_outcomes(passed=4)


@pytest.mark.parametrize("module", [compared_tables, faults, made_table, simulation, temporary_catalog])
def test_the_examples_of_docstrings_run(tmp_path: Path, module: ModuleType) -> None:
    results = doctest.testmod(module, extraglobs={"folder": str(tmp_path)})
    assert results.attempted
    assert not results.failed


@pytest.mark.parametrize("name", ["assert_tables_equal", "FaultNotMet", "lose_answer", "sqlext_spark_session"])
def test_names_of_the_page_are_of_the_kit(name: str) -> None:
    assert name in (_ROOT / "docs" / "testing.md").read_text()
    assert any(name in path.read_text() for path in (_ROOT / "sqlext" / "testing").rglob("*.py"))
