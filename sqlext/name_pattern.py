"""Patterns of names, such as `cache.*`, which stands for all names that begin with `cache.`."""

from __future__ import annotations


def is_named_by(pattern: str, name: str) -> bool:
    """Whether `name` is `pattern`, in which the first `*`, if any, stands for one or more characters."""
    head, star, tail = pattern.partition("*")
    if not star:
        return name == pattern
    return name.startswith(head) and name.endswith(tail) and len(name) > len(head + tail)
