"""What the guides for people who come from elsewhere name as sqlext's is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlext import procedures
from sqlext.error_conditions import CONDITIONS
from sqlext.peer_properties.flink import FLINK
from sqlext.peer_properties.iceberg import ICEBERG
from sqlext.peer_properties.paimon import PAIMON
from sqlext.streaming.stream_write import StreamWrite

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = sorted(DOCS.glob("from-*.md"))


def section(page: str, title: str) -> str:
    text = (DOCS / page).read_text()
    begin = text.index(f"## {title}\n")
    return text[begin : text.index("\n## ", begin)]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_called_procedures_and_conditions_exist(page: Path) -> None:
    text = page.read_text()
    called = set(re.findall(r"CALL … (\w+)", text))
    assert called
    assert called <= set(procedures.__all__)
    assert set(re.findall(r"[(`]`?([A-Z]+(?:_[A-Z0-9]+)+)`", text)) - {"TIMESTAMP_NTZ", *CONDITIONS} <= {
        "UPDATE_BEFORE",
        "UPDATE_AFTER",
        "TIMESTAMP_LTZ",
    }


def test_icebergs_procedures_are_there() -> None:
    listed = re.search(r"All of Iceberg's procedures.*?(?=\n- \*\*)", section("from-iceberg.md", "The same"), re.DOTALL)
    assert listed is not None
    named = re.findall(r"`(\w+)`", listed[0])
    assert len(named) == 20
    assert set(named) <= set(procedures.__all__)


def test_properties_of_paimon_that_are_told_as_the_same_are_done() -> None:
    done = {one.name for one in PAIMON if one.outcome == "done"}
    named = re.findall(r"`([a-z-]+(?:[.-][a-z*-]+)+)`", section("from-paimon.md", "The same"))
    options = {"partial-update", "first-row", "full-compaction", "consumer-id"}
    assert len(named) > 12
    assert set(named) - options <= done


def test_refused_properties_are_told_as_such() -> None:
    refused = {one.name for one in [*PAIMON, *FLINK, *ICEBERG] if one.outcome == "refused"}
    assert {"snapshot.time-retained", "changelog-producer.lookup-wait", "tag.automatic-creation"} <= refused


def test_methods_of_flinks_builder_are_there() -> None:
    methods = re.search(
        r"methods of Flink's builder: (.*?) \(\[streams\]", section("from-flink.md", "The same"), re.DOTALL
    )
    assert methods is not None
    named = re.findall(r"`(\w+)`", methods[1])
    assert named
    assert all(hasattr(StreamWrite, name) for name in named)
