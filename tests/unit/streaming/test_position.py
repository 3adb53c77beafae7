"""The offset of a stream, as its checkpoint has it."""

from __future__ import annotations

import pytest

from sqlext.streaming.source import Position
from unit.command.lake import refused


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"version": 99}', '{"version": 1, "more": 2}'])
def test_what_is_no_offset_is_refused(text: str) -> None:
    with refused("STREAM_OFFSET_UNREADABLE", "lake.db.t"):
        Position.decode(text, "lake.db.t")
