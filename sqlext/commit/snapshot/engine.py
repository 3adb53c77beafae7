"""Who wrote a snapshot or a file, as other engines show it."""

from __future__ import annotations

from importlib import metadata as distribution

ENGINE_NAME = "sqlext"


def _engine_version() -> str:
    try:
        return distribution.version(ENGINE_NAME)
    except distribution.PackageNotFoundError:
        return "unreleased"


ENGINE_VERSION = _engine_version()
