"""`python -m sqlext.serve`, where it cannot serve: one line of JSON, and status 1."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from sqlext import serve


def _told(capsys: pytest.CaptureFixture[str]) -> str:
    assert serve.main() == 1
    (line,) = capsys.readouterr().out.splitlines()
    return str(json.loads(line)["error"])


def test_it_is_no_command_of_users(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert "NOT_A_CHILD_OF_SPARK" in _told(capsys)


def test_a_python_with_another_pyspark(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(serve, "session_of_parent", lambda: SimpleNamespace(version="3.5.1"))
    assert "PYSPARK_DIFFERS" in _told(capsys)
