"""Which names a pattern stands for."""

from __future__ import annotations

import pytest

from sqlext.name_pattern import is_named_by


@pytest.mark.parametrize(
    ("pattern", "named", "not_named"),
    [
        ("cache-enabled", ["cache-enabled"], ["cache-enabled.x", "cache-enable", "", "Cache-Enabled"]),
        ("cache.*", ["cache.a", "cache.a.b", "cache.*"], ["cache.", "cache", "caches.a", "a.cache.b"]),
        ("fields.*.ignore", ["fields.a.ignore", "fields.a.b.ignore"], ["fields..ignore", "fields.ignore", "fields.a"]),
        ("*", ["a", "*"], [""]),
    ],
)
def test_a_star_stands_for_some_characters(pattern: str, named: list[str], not_named: list[str]) -> None:
    assert all(is_named_by(pattern, name) for name in named)
    assert not any(is_named_by(pattern, name) for name in not_named)
