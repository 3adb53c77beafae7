"""Commands of `sqlext` as a shell runs them, in this process."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from sqlext.terminal.app import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    error: str

    @property
    def document(self) -> Any:
        """The JSON that it printed, which is one document."""
        return json.loads(self.out)


class CommandLine:
    """Runs commands on the catalog that the environment names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], catalog: str) -> None:
        self._patch = monkeypatch
        self._captured = capsys
        monkeypatch.setenv("SQLEXT_CATALOG", catalog)

    def __call__(self, *arguments: str, code: int = 0) -> Ran:
        """Runs `sqlext` with these arguments, which is to end with this code."""
        self._patch.setattr(sys, "argv", ["sqlext", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, error = self._captured.readouterr()
        ran = Ran(int(ended.value.code or 0), out, error)
        assert ran.code == code, ran
        assert "Traceback" not in ran.error
        return ran
