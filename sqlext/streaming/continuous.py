"""Triggers that tables cannot be streamed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.errors import UnsupportedError


def refuse_continuous(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Errors, always: UnsupportedError STREAM_CONTINUOUS for a table that is written or read."""
    raise UnsupportedError("STREAM_CONTINUOUS", kind=arguments["kind"], name=arguments["name"])
