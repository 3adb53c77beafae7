"""Every property that the peers' own sources name has a verdict, and what is said of it is true."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property_table import DOCS, written
from sqlext import properties as known_properties
from sqlext.errors import AnalysisError
from sqlext.peer_properties.delta import DELTA
from sqlext.peer_properties.flink import FLINK
from sqlext.peer_properties.iceberg import ICEBERG
from sqlext.peer_properties.paimon import PAIMON
from sqlext.peer_properties.verdict import Verdict
from sqlext.properties import ALL, TableProperty
from sqlext.property_names import require_valid_properties, verdict_of

_ROOT = Path(__file__).resolve().parents[2]
_VERDICTS = (*ICEBERG, *FLINK, *PAIMON, *DELTA)
# Of older Icebergs and of PyIceberg.
_NOT_LISTED = {
    "commit.num-retries",
    "delta.*",
    "write.manifest-lists.enabled",
    "write.parquet.row-group-limit",
    "write.py-location-provider.impl",
}
# Done, and read otherwise than as a `TableProperty`: the text by which the code knows them.
_READ_BY_NAME = {
    "comment": "comment",
    "fields.default-aggregate-function": "fields.default-aggregate-function",
    "identifier-fields.rely": "identifier-fields.rely",
    "write.parquet.bloom-filter-enabled.column.*": "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.*": "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.bloom-filter-ndv.column.*": "write.parquet.bloom-filter-ndv.column.",
    "write.parquet.dict-encoding-enabled.column.*": "write.parquet.dict-encoding-enabled.column.",
    "write.parquet.stats-enabled.column.*": "write.parquet.stats-enabled.column.",
    "schema.name-mapping.default": "schema.name-mapping.default",
    "write.metadata.metrics.column.*": "write.metadata.metrics.column.",
}


def _listed(peer: str) -> list[str]:
    lines = (_ROOT / "tests" / "peer_properties" / f"{peer}.txt").read_text().split("\n")
    return [line for line in lines if line and not line.startswith("#")]


_LISTED = [name for peer in ("iceberg", "flink", "paimon", "delta") for name in _listed(peer)]


def _value_for(name: str) -> str:
    """A value that asks for something, in the type that most have."""
    return {"branch": "audit"}.get(name, "17")


@pytest.mark.parametrize("name", _LISTED)
def test_every_property_of_a_peer_has_a_verdict(name: str) -> None:
    verdict = verdict_of(name.replace("*", "c"))
    assert verdict is not None
    assert (verdict.reason != "") == (verdict.outcome != "done")
    assert (verdict.way_out != "") == (verdict.outcome == "refused")


def test_there_is_one_verdict_for_a_property_and_each_is_of_a_peers() -> None:
    names = [verdict.name for verdict in _VERDICTS]
    assert len(set(names)) == len(names)
    for verdict in _VERDICTS:
        assert verdict.name in _NOT_LISTED or any(verdict.is_of(name.replace("*", "c")) for name in _LISTED), verdict


def _read_names() -> set[str]:
    """Names of values and texts that modules use, but for those that list the properties."""
    found = set()
    for path in (_ROOT / "sqlext").rglob("*.py"):
        if "peer_properties" in path.parts or path.name in ("properties.py", "property_names.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.ImportFrom):
                found |= {alias.name for alias in node.names}
    return found


def _constants(name: str) -> Iterator[str]:
    for constant, value in vars(known_properties).items():
        if isinstance(value, TableProperty) and name in (value.name, *value.also):
            yield constant


def test_what_is_done_is_read_by_code() -> None:
    read = _read_names()
    for verdict in _VERDICTS:
        if verdict.outcome != "done":
            continue
        if verdict.name in ALL:
            assert any(constant in read for constant in _constants(verdict.name)), verdict.name
        elif verdict.name in _READ_BY_NAME:
            text = _READ_BY_NAME[verdict.name]
            own = {constant for constant, value in vars(known_properties).items() if value == text}
            assert text in read or own & read, verdict.name
        else:
            head, _, tail = verdict.name.partition("*")
            assert head == "fields.", verdict.name
            assert tail in read, verdict.name


def test_what_is_refused_or_without_effect_is_no_property_that_is_read() -> None:
    for verdict in _VERDICTS:
        if verdict.outcome == "no effect":
            assert verdict.name not in ALL, verdict.name
        if verdict.outcome == "refused" and verdict.name in ALL:
            with pytest.raises(AnalysisError):
                ALL[verdict.name].of({verdict.name: _value_for(verdict.name)})
            for idle in verdict.idle:
                ALL[verdict.name].of({verdict.name: idle})


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.name == "sqlext.property_names"]


@pytest.mark.parametrize("verdict", [one for one in _VERDICTS if one.outcome == "no effect"], ids=lambda one: one.name)
def test_what_has_no_effect_warns(verdict: Verdict, caplog: pytest.LogCaptureFixture) -> None:
    name = verdict.name.replace("*", "c")
    with caplog.at_level(logging.WARNING):
        require_valid_properties({name: "17"})
        (warning,) = _warnings(caplog)
        assert name in warning
        assert verdict.reason in warning
        caplog.clear()
        require_valid_properties(dict.fromkeys([name], verdict.idle[0]) if verdict.idle else {})
    assert not _warnings(caplog)


@pytest.mark.parametrize("verdict", [one for one in _VERDICTS if one.outcome == "refused"], ids=lambda one: one.name)
def test_what_is_refused_says_why_and_the_way_out(verdict: Verdict) -> None:
    name = verdict.name.replace("*", "c")
    with pytest.raises(AnalysisError) as refusal:
        require_valid_properties({name: _value_for(name)})
    assert name in str(refusal.value)
    if refusal.value.condition == "TABLE_PROPERTY_REFUSED":
        assert verdict.reason in str(refusal.value)
        assert verdict.way_out in str(refusal.value)
    else:
        assert refusal.value.condition in ("INVALID_TABLE_PROPERTY", "RESERVED_TABLE_PROPERTY")
    for idle in verdict.idle:
        require_valid_properties({name: idle.upper()})


@given(st.lists(st.sampled_from(_LISTED), unique=True, max_size=6))
def test_of_any_properties_one_that_is_refused_refuses_all(names: list[str]) -> None:
    said = {name.replace("*", "c"): _value_for(name) for name in names}
    verdicts = {name: verdict_of(name) for name in said}
    refused = any(verdict is not None and verdict.outcome == "refused" for verdict in verdicts.values())
    unfit = any(name in ALL and verdict is not None and verdict.outcome == "done" for name, verdict in verdicts.items())
    if refused:
        with pytest.raises(AnalysisError):
            require_valid_properties(said)
    elif not unfit:
        require_valid_properties(said)


def test_the_documentation_has_these_tables() -> None:
    """`PYTHONPATH=. python3 tests/property_table.py` writes them."""
    assert written(DOCS.read_text()) == DOCS.read_text()
