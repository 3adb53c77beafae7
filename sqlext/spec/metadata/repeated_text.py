"""JSON text that successive metadata files of a table repeat: their snapshots and their snapshot log.

Each metadata file has the whole history of its table. A writer that knows the text of the items before encodes only
new ones, and a reader that finds the text which it has decoded before decodes only what follows it. Text is compared
byte by byte, and items by identity, so that neither depends on a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import is_
from typing import Any, TypeAlias

from sqlext.spec.metadata.gzip_parts import deflated_part
from sqlext.spec.stored_bytes.checksum import PartChecksum

_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SPACES = " \t\n\r"
_SPACE = re.compile(f"[{_SPACES}]*")
_COMMA = re.compile(f"[{_SPACES}]*,[{_SPACES}]*")
# Stands for the items that were cut out. Python's parser calls a hook for it; JSON does not have it.
_CUT = b"NaN"


class Run:
    """Successive items of a JSON array with their text, which begins with a comma unless the array begins with it."""

    def __init__(self, items: tuple[Any, ...], text: bytes) -> None:
        self.items = items
        self.text = text

    @cached_property
    def deflated(self) -> bytes:
        """The text as a part of a deflate stream."""
        return deflated_part(self.text)

    @cached_property
    def checksum(self) -> PartChecksum:
        """That of the text."""
        return PartChecksum.of(self.text)


Runs: TypeAlias = tuple[Run, ...]
"""The leading items of an array. From the end, each run is longer than the one after it: so an item becomes part of a
longer run only about log2(n) times among n items, and an array that differs in its last items differs in short runs."""


@dataclass(frozen=True, slots=True)
class CutArray:
    """An array in a JSON text: the `known` runs that it begins with, and the values `added` to them."""

    known: Runs
    added: tuple[Any, ...]
    added_text: bytes


def items_of(runs: Runs) -> Iterator[Any]:
    """The items of all runs."""
    return chain.from_iterable(run.items for run in runs)


def extended(runs: Runs, items: tuple[Any, ...], text: bytes) -> Runs:
    """The runs with further items, whose text begins with a comma unless there are no runs."""
    if not items:
        return runs
    last = Run(items, text)
    kept = list(runs)
    while kept and len(kept[-1].items) <= len(last.items):
        before = kept.pop()
        last = Run(before.items + last.items, before.text + last.text)
    return (*kept, last)


def encoded_runs(known: Runs, items: Sequence[Any], to_json: Callable[[Any], Mapping[str, Any]]) -> Runs:
    """The runs of all `items`, of which those at the beginning that are the very objects of `known` are not encoded
    again."""
    kept, count = [], 0
    for run in known:
        end = count + len(run.items)
        if end > len(items) or not all(map(is_, run.items, items[count:end])):
            break
        kept.append(run)
        count = end
    added = tuple(items[count:])
    if not added:
        return tuple(kept)
    text = json_text([to_json(item) for item in added])[1:-1]
    return extended(tuple(kept), added, b"," + text if kept else text)


def json_text(value: Any) -> bytes:
    """The value as compact JSON."""
    return _ENCODER.encode(value).encode("utf-8")


def decode_with_known(
    data: bytes, known: Mapping[str, Sequence[Runs]], within: str | None = None
) -> tuple[dict[str, Any], Mapping[str, CutArray]]:
    """The JSON object in `data`, without the arrays of the names in `known` that it has, or that its object `within`
    has, and these arrays.

    Of the runs that are known of an array those are used that are found at its beginning. An array is looked for after
    those that are named before it; one that is not found there, or does not begin with an object, stays where it is.

    Raises what `json.loads` raises, and ValueError for text that is no JSON object. It also raises ValueError for valid
    JSON if what was found is not the object's own array.
    """
    rest: list[bytes] = []
    arrays: dict[str, CutArray] = {}
    position = 0
    for name, candidates in known.items():
        opening = re.compile(rb'"%s"[ \t\n\r]*:[ \t\n\r]*\[' % name.encode("ascii")).search(data, position)
        if opening is None:
            continue
        array, end = _cut(data, opening.end(), candidates)
        if array.known or array.added:
            arrays[name] = array
            rest += [data[position : opening.end()], _CUT]
            position = end
    marks: list[object] = []

    def mark(text: str) -> object:
        marks.append(object())
        return marks[-1]

    obj = json.loads(b"".join([*rest, data[position:]]), parse_constant=mark)
    # The parser was in the same state at each mark as it would have been at the items, so these are the array's if the
    # mark is: neither of a nested object of the same name, nor of a first one of two.
    owner = obj if within is None else obj[within]
    if not isinstance(owner, dict) or len(marks) != len(arrays):
        raise ValueError("it is no object, or has numbers that JSON does not have")
    for name, found in zip(arrays, marks, strict=True):
        left = owner.pop(name, None)
        if not isinstance(left, list) or len(left) != 1 or left[0] is not found:
            raise ValueError(f"{name} is not the object's own array")
    return obj, arrays


def _cut(data: bytes, start: int, candidates: Sequence[Runs]) -> tuple[CutArray, int]:
    """The array whose first item begins at or after `start`, and the end of its last item in `data`."""
    known, position = max(
        (_matched(data, start, runs) for runs in candidates), key=lambda found: found[1], default=((), start)
    )
    text = data[position:].decode("utf-8")
    begin = (_COMMA if known else _SPACE).match(text)
    if begin is None or text[begin.end() : begin.end() + 1] != "{":
        return CutArray(known, (), b""), position
    added, length = _DECODER.raw_decode("[" + text[begin.end() :])
    text = text[: begin.end() + length - len("[]")].rstrip(_SPACES)
    added_text = text.encode("utf-8")
    return CutArray(known, tuple(added), added_text), position + len(added_text)


def _matched(data: bytes, start: int, runs: Runs) -> tuple[Runs, int]:
    """Those of the first runs that `data` has at `start`, and the end of their text."""
    position = start
    for count, run in enumerate(runs):
        if not data.startswith(run.text, position):
            return runs[:count], position
        position += len(run.text)
    return runs, position
