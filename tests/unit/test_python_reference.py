"""docs/python.md is what the docstrings say. That its examples run: tests/session/sessions/test_python_page.py."""

from __future__ import annotations

import inspect

import sqlext
from python_reference import DOCS, written


def test_the_page_is_current() -> None:
    text = DOCS.read_text()
    assert written(text) == text, "python3 tests/python_reference.py writes it"


def test_every_public_name_is_told() -> None:
    text = DOCS.read_text()
    for name in sqlext.__all__:
        assert f"sqlext.{name}" in text or name == "__version__"


def test_every_public_function_is_documented_and_typed() -> None:
    for name in sqlext.__all__:
        value = getattr(sqlext, name)
        if inspect.isfunction(value):
            assert inspect.getdoc(value)
            signature = inspect.signature(value)
            annotations = [one.annotation for one in signature.parameters.values()] + [signature.return_annotation]
            assert inspect.Signature.empty not in annotations
