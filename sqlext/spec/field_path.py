"""Paths to fields, by the names that lead to them: no dotted string stands for one, since names may hold dots."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

FieldPath: TypeAlias = tuple[str, ...]
"""A column's name, then those of the fields inside it."""

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.,]*[^`.,\s]))\s*([.,]|$)")
_PLAIN = re.compile(r"\w+")


def listed_paths(text: str) -> tuple[FieldPath, ...] | None:
    """The paths that a text of names lists with commas, as SQL writes them: a name in backticks may hold anything.

    None for a text that is no such list.
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
    """The path for messages, each name in backticks that would read as anything else without: `a.b` is one of two."""
    return ".".join(name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`" for name in path)
