"""Paths to fields and names of tables, as tuples of names rather than dotted strings, since names may contain dots."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

FieldPath: TypeAlias = tuple[str, ...]
"""The name of a column, then of each nested field on the way down."""

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.,]*[^`.,\s]))\s*([.,]|$)")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def listed_paths(text: str) -> tuple[FieldPath, ...] | None:
    """Parses a comma-separated list of SQL paths, in which a name in backticks may contain any character.

    None if `text` is not such a list.
    """
    paths: list[FieldPath] = []
    parts: list[str] = []
    end, behind = 0, ","
    while behind:
        match = _PART.match(text, end)
        if match is None:
            return None
        parts.append(match[2] if match[1] is None else match[1].replace("``", "`"))
        end, behind = match.end(), match[3]
        if behind != ".":
            paths.append(tuple(parts))
            parts = []
    return tuple(paths)


def path_text(path: Iterable[str]) -> str:
    """The path, or the name of a table by its parts, as dotted SQL: with backticks around what is not a plain word."""
    return ".".join(name if _PLAIN.fullmatch(name) else f"`{_text(name)}`" for name in path)


def _text(name: str) -> str:
    """The name as it stands between backticks; halves of surrogate pairs, of a damaged file, cannot be shown."""
    return name.encode("utf-8", "replace").decode().replace("`", "``")
