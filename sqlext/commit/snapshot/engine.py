"""Name and version of this engine, as snapshot summaries and files state them."""

from __future__ import annotations

from importlib import metadata as distribution

ENGINE_NAME = "sqlext"


def _engine_version() -> str:
    try:
        return distribution.version(ENGINE_NAME)
    except distribution.PackageNotFoundError:
        return "unreleased"


ENGINE_VERSION = _engine_version()
