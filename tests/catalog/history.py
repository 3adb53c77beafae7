"""Histories of transactions that append to lists and read them, and the anomalies that are in one.

A list shows the order of its appends, so each read tells which transactions it follows (Adya's dependencies, as Elle
finds them): `ww` to the next append of a list, `wr` to who has read an append, `rw` from who has not read it yet. A
cycle of them is an anomaly: G0 of `ww` alone, G1c with `wr`, G-single with exactly one `rw` (a transaction has seen
what came after something that it has not seen), and G2 with more, which only serializable transactions are free of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

Outcome = Literal["landed", "refused", "unknown"]
Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Recorded:
    """One transaction: what it has read of each list before its own appends, what it has appended, how it ended."""

    name: str
    reads: Mapping[str, Sequence[int]]
    appends: Mapping[str, Sequence[int]]
    outcome: Outcome


@dataclass
class Dependencies:
    """Edges between transactions that have landed, by kind; each kind by list."""

    ww: dict[str, Graph] = field(default_factory=dict)
    wr: dict[str, Graph] = field(default_factory=dict)
    rw: dict[str, Graph] = field(default_factory=dict)


def anomalies(history: Sequence[Recorded], final: Mapping[str, Sequence[int]]) -> list[str]:
    """What no isolation level allows, and `G2`, which only serializable transactions exclude; `final` are the lists as
    they are in the end."""
    found = [*_torn(history, final)]
    if found:
        return found
    dependencies = _dependencies(history, final)
    ww, wr, rw = (list(one.values()) for one in (dependencies.ww, dependencies.wr, dependencies.rw))
    found += [f"G0: {one}" for one in cycles(ww)]
    found += [f"G1c: {one}" for one in cycles([*ww, *wr])]
    for key in final:
        of_key = [kind[key] for kind in (dependencies.ww, dependencies.wr, dependencies.rw) if key in kind]
        found += [f"lost update of {key}: {one}" for one in cycles(of_key)]
    found += [f"G-single: {one}" for one in _single(rw, [*ww, *wr])]
    found += [f"G2: {one}" for one in cycles([*ww, *wr, *rw])]
    return found


def _single(rw: Iterable[Graph], others: Iterable[Graph]) -> Iterable[str]:
    """The `rw` edges from whose end other edges alone lead back to their start."""
    edges = _union(others)
    for graph in rw:
        for start, ends in graph.items():
            for end in ends:
                if start in _reached(edges, end):
                    yield f"{start} has seen what came after {end}, and not {end}"


def _reached(edges: Graph, start: str) -> set[str]:
    reached, left = {start}, [start]
    while left:
        for end in edges.get(left.pop(), ()):
            if end not in reached:
                reached.add(end)
                left.append(end)
    return reached


def _union(graphs: Iterable[Graph]) -> Graph:
    edges: Graph = {}
    for graph in graphs:
        for start, ends in graph.items():
            edges.setdefault(start, set()).update(ends)
    return edges


def _torn(history: Sequence[Recorded], final: Mapping[str, Sequence[int]]) -> Iterable[str]:
    """Appends that are lost, doubled or were never made; reads that are of no state there was."""
    by_value = {value: one for one in history for values in one.appends.values() for value in values}
    for key, values in final.items():
        yield from (f"doubled in {key}: {value}" for value, count in Counter(values).items() if count > 1)
        yield from (f"from nowhere in {key}: {value}" for value in values if value not in by_value)
    for one in history:
        for key, appended in one.appends.items():
            there = [value in final[key] for value in appended]
            if one.outcome == "landed" and not all(there):
                yield f"lost: {one.name} has appended {appended} to {key}"
            if one.outcome == "refused" and any(there):
                yield f"refused, and there: {one.name} has appended {appended} to {key}"
        if len({value in final[key] for key, values in one.appends.items() for value in values}) > 1:
            yield f"half of {one.name} is there"
        for key, read in one.reads.items():
            if list(read) != list(final[key][: len(read)]):
                kind = "G1a" if any(by_value[v].outcome == "refused" for v in read if v in by_value) else "no prefix"
                yield f"{kind}: {one.name} has read {read} of {key}"
            elif read and by_value[read[-1]].appends[key][-1] != read[-1]:
                yield f"G1b: {one.name} has read {key} up to {read[-1]}, in the middle of {by_value[read[-1]].name}"


def _dependencies(history: Sequence[Recorded], final: Mapping[str, Sequence[int]]) -> Dependencies:
    found = Dependencies()
    writer = {value: one.name for one in history for values in one.appends.values() for value in values}
    there = {value for values in final.values() for value in values}
    for key, values in final.items():
        for before, after in pairwise(values):
            _add(found.ww.setdefault(key, {}), writer[before], writer[after])
    for one in history:
        changed = [value for values in one.appends.values() for value in values]
        if one.outcome == "refused" or (changed and changed[0] not in there):
            continue
        for key, read in one.reads.items():
            if read:
                _add(found.wr.setdefault(key, {}), writer[read[-1]], one.name)
            if len(read) < len(final[key]):
                _add(found.rw.setdefault(key, {}), one.name, writer[final[key][len(read)]])
    return found


def _add(graph: Graph, start: str, end: str) -> None:
    if start != end:
        graph.setdefault(start, set()).add(end)


def cycles(graphs: Iterable[Graph]) -> list[list[str]]:
    """The strongly connected components of more than one node, by Tarjan."""
    edges = _union(graphs)
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in edges:
        if root in number:
            continue
        path = [(root, iter(sorted(edges.get(root, ()))))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while path:
            node, ends = path[-1]
            for end in ends:
                if end not in number:
                    number[end] = low[end] = len(number)
                    stack.append(end)
                    on_stack.add(end)
                    path.append((end, iter(sorted(edges.get(end, ())))))
                    break
                if end in on_stack:
                    low[node] = min(low[node], number[end])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    component = []
                    while True:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                        if component[-1] == node:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))
    return found
