"""Data files divided among tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heapreplace

from sqlext.spec.manifests.content_file import ContentFile


def divided(files: Iterable[ContentFile], count: int, size: Callable[[ContentFile], int]) -> Sequence[frozenset[str]]:
    """The paths of the files in at most `count` sets of about equal sizes.

    Each file, the largest first, goes to the set that is the smallest so far.
    """
    parts: list[list[str]] = [[] for _ in range(count)]
    sizes = [(0, number) for number in range(count)]
    heapify(sizes)
    for file in sorted(files, key=size, reverse=True):
        least, number = sizes[0]
        parts[number].append(file.file_path)
        heapreplace(sizes, (least + size(file), number))
    return [frozenset(part) for part in parts if part]
