"""The reference of docs/python.md, from signatures and docstrings of what is public.

`PYTHONPATH=. python3 tests/python_reference.py` writes it anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlext
from sqlext import local, procedures, testing
from sqlext.local import LocalCatalog, LocalTable
from sqlext.notebook.shown_table import ShownTable, TablePlots
from sqlext.streaming.stream_write import StreamWrite
from sqlext.testing import simulator

DOCS = Path(__file__).resolve().parents[1] / "docs" / "python.md"
_BEGIN = "<!-- what follows is made by tests/python_reference.py -->\n"
_WIDTH = 110


def reference() -> str:
    """A section for each public name, for the methods of a stream's write, and for each procedure."""
    sections = [
        *_functions("Sessions", "sqlext", sqlext.session, sqlext.configure, sqlext.attach),
        *_functions("Rows and transactions", "sqlext", sqlext.upsert, sqlext.merge, sqlext.lookup, sqlext.transaction),
        *_functions("A table in a notebook", "sqlext", sqlext.table),
        "### What `table(spark, name)` has\n",
        _listed(ShownTable, [name for name in vars(ShownTable) if inspect.isfunction(vars(ShownTable)[name])]),
        "### Pictures: `table(spark, name).plot`\n",
        _listed(TablePlots, [name for name in vars(TablePlots) if inspect.isfunction(vars(TablePlots)[name])]),
        *_functions("Tables without a JVM", "sqlext.local", local.open),
        "### Methods of a catalog: `sqlext.local.LocalCatalog`\n",
        _listed(LocalCatalog, [name for name in vars(LocalCatalog) if inspect.isfunction(vars(LocalCatalog)[name])]),
        "### Methods of a table: `sqlext.local.LocalTable`\n",
        _listed(LocalTable, [name for name in vars(LocalTable) if inspect.isfunction(vars(LocalTable)[name])]),
        *_functions("Tests of pipelines", "sqlext.testing", testing.assert_tables_equal, testing.table_difference),
        *_functions(None, "sqlext.testing", testing.make_table),
        f"### `sqlext.testing.Faults`\n\n{_documented(testing.Faults)}\n",
        _listed(testing.Faults, ["lose_next_commit", "lose_answer", "fail_storage", "kill_worker", "reach"]),
        f"### `sqlext.testing.TemporaryCatalog`\n\n{_documented(testing.TemporaryCatalog)}\n",
        *_functions(None, "sqlext.testing.simulator", simulator.simulate),
        *_functions("Streams and change feeds", "sqlext", sqlext.write_stream),
        "### Methods of `write_stream(rows)`\n",
        _listed(StreamWrite, [name for name in vars(StreamWrite) if inspect.isfunction(vars(StreamWrite)[name])]),
        *_functions(None, "sqlext", sqlext.from_debezium),
        "## Errors\n",
        f"### `sqlext.SqlextError`\n\n{_documented(sqlext.SqlextError)}\n",
        "## Procedures\n",
        f"{_documented(procedures)}\n",
        *_functions(None, "sqlext.procedures", *(getattr(procedures, name) for name in procedures.__all__)),
    ]
    return "\n".join(sections)


def _functions(title: str | None, module: str, *functions: Callable[..., Any]) -> Iterator[str]:
    if title is not None:
        yield f"## {title}\n"
    for function in functions:
        signature = _indented(_signature(function.__name__, function))
        yield f"### `{module}.{function.__name__}`\n\n{signature}\n\n{_documented(function)}\n"


def _documented(documented: object) -> str:
    """The docstring, with its examples as indented code also where it has no other paragraphs than these."""
    paragraphs = (inspect.getdoc(documented) or "").split("\n\n")
    return "\n\n".join(_indented(one) if one.startswith(">>>") else one for one in paragraphs)


def _listed(owner: type, names: list[str]) -> str:
    public = [name for name in names if not name.startswith("_")]
    told = ((_signature(name, getattr(owner, name)), inspect.getdoc(getattr(owner, name)) or "") for name in public)
    return "".join(f"- `{' '.join(signature.split())}`: {' '.join(text.split())}\n" for signature, text in told)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """The signature as it is written: annotations are texts."""
    parts, keywords = [], False
    for one in inspect.signature(function).parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        parts.append(f"{stars}{one.name}: {one.annotation}{default}")
    returned = inspect.signature(function).return_annotation
    line = f"{name}({', '.join(parts)}) -> {returned}"
    return (
        line
        if len(line) <= _WIDTH
        else "".join([f"{name}(\n", *(f"    {one},\n" for one in parts), f") -> {returned}"])
    )


def _default(value: object) -> str:
    if inspect.isfunction(value):
        return value.__name__
    return "{}" if value == {} else repr(value)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def written(text: str) -> str:
    """The page with its reference made anew."""
    return f"{text[: text.index(_BEGIN) + len(_BEGIN)]}\n{reference()}"


if __name__ == "__main__":
    DOCS.write_text(written(DOCS.read_text()))
