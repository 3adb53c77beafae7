"""Ids of a replaced table's columns: in random schemas a column keeps its id by name if its type allows that.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import os
from itertools import count
from random import Random

from sqlext.spec.replaced_schema import assign_kept_ids
from sqlext.spec.schema import Schema, nested_fields
from sqlext.spec.type_promotion import is_promotion
from sqlext.spec.types import (
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    Type,
    is_primitive,
)

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261123"))
NAMES = ("a", "b", "a.b", "A", "element", "key", "value")
PRIMITIVES: tuple[Type, ...] = (IntegerType(), LongType(), StringType(), DecimalType(5, 2), DecimalType(9, 2))


def random_type(random: Random, ids: count[int], depth: int = 2) -> Type:
    kind = random.random() if depth else 0
    if kind < 0.5:
        return random.choice(PRIMITIVES)
    if kind < 0.7:
        return StructType(random_fields(random, ids, depth - 1))
    if kind < 0.85:
        return ListType(next(ids), random_type(random, ids, depth - 1), True)
    return MapType(next(ids), random_type(random, ids, depth - 1), next(ids), random_type(random, ids, depth - 1), True)


def random_fields(random: Random, ids: count[int], depth: int = 2) -> tuple[NestedField, ...]:
    names = random.sample(NAMES, random.randint(1, 4))
    return tuple(NestedField(next(ids), name, random_type(random, ids, depth)) for name in names)


def by_path(fields: tuple[NestedField, ...], prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], NestedField]:
    found = {}
    for field in fields:
        path = (*prefix, field.name)
        found[path] = field
        found |= by_path(nested_fields(field.type), path)
    return found


def test_columns_keep_the_ids_of_their_names() -> None:
    kept = fresh = 0
    for case in range(2000):
        random = Random(f"{SEED}-{case}")
        before, given = (Schema(random_fields(random, count(1))) for _ in range(2))
        last = before.highest_field_id + random.randint(0, 3)
        replaced = assign_kept_ids(given, before, last, 2)
        clue = f"SQLEXT_TEST_SEED={SEED} case {case}"
        olds, news = by_path(before.fields), by_path(replaced.fields)
        assert list(news) == list(by_path(given.fields)), clue
        assert len({field.id for field in news.values()}) == len(news), clue
        for path, field in news.items():
            line = [path[:length] for length in range(1, len(path) + 1)]
            same = all(one in olds and _reads(olds[one].type, news[one].type) for one in line)
            assert (field.id == olds[path].id) if same else (field.id > last), (clue, path)
            kept, fresh = kept + same, fresh + (not same)
        added = sorted(field.id for field in news.values() if field.id > last)
        assert added == list(range(last + 1, last + 1 + len(added))), clue
    assert kept > 200
    assert fresh > 200


def _reads(before: Type, after: Type) -> bool:
    if is_primitive(before) or is_primitive(after):
        return is_promotion(before, after, 2)
    return type(before) is type(after)
