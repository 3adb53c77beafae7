"""The cache of decoded files."""

from __future__ import annotations

from sqlext.scan.files.byte_cache import ByteCache


def test_the_least_recently_used_value_goes_first() -> None:
    loads: list[str] = []
    cache: ByteCache[str, str] = ByteCache(20)

    def load(key: str) -> str:
        return cache.load_once(key, lambda: (loads.append(key) or key, 10))  # type: ignore[func-returns-value]

    for key in ("a", "b", "a", "c", "a", "b"):
        assert load(key) == key
    assert loads == ["a", "b", "c", "b"]
    assert cache.held_bytes == 20


def test_what_does_not_fit_is_not_kept() -> None:
    cache: ByteCache[str, int] = ByteCache(5)
    assert cache.load_once("a", lambda: (1, 6)) == 1
    assert cache.load_once("a", lambda: (2, 5)) == 2
    assert cache.load_once("a", lambda: (3, 5)) == 2


def test_what_is_forgotten_gives_its_room_back() -> None:
    cache: ByteCache[str, int] = ByteCache(20)
    for key in ("a", "b"):
        cache.load_once(key, lambda: (1, 10))
    cache.forget(lambda key: key == "a")
    assert [cache.holds("a"), cache.holds("b"), cache.held_bytes] == [False, True, 10]
