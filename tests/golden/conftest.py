"""Says at the end of a run which way to write changes had its turn."""

from __future__ import annotations

import pytest

from golden.strategies import rotating_strategy


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    name = rotating_strategy()
    terminalreporter.write_line(f"golden inputs ran as {name} too (SQLEXT_GOLDEN_STRATEGY={name})")
