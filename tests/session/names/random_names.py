"""Random tables whose columns' names read as something else, and statements that change them, told by seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlext.spec.name_case import name_key

Row = tuple[Any, ...]
NAMES = (
    *("a.b", "b", "a.b.c", "b.a", "c", "a.c", "b.c", "x y", "q`t", "`", "ö", "Ö", "ß", "K", "k", "B", "C", "A.B"),
    *("__source", "__target", "__clause", "__last", "__rows", "__place", "__origin", "__file", "__key_1", "_files"),
    *(
        "excluded",
        "s",
        "t",
        "lake",
        "rows",
        "select",
        "from",
        "element",
        "key",
        "value",
        "*",
        "^a$",
        "0",
        "1a",
        "$",
        "id",
    ),
    *("a.element", "'", "--", "/*", "count(1)", "max(b)", "position", "%", ":a"),
)
STRUCTS = ("a", "A", "s", "a.b")
FIELDS = ("b", "c", "B", "b.c", "a", "a.b", "element", "x y", "q`t", "k")


def quoted(*path: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


@dataclass
class NamedTable:
    """The columns by name, those inside each struct, and the rows, which have a value or a tuple for each column."""

    rng: random.Random
    exact: bool
    keyed: bool
    columns: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        structs = self._distinct(STRUCTS, (), self.rng.randint(1, 2))
        plain = self._distinct(NAMES, structs, self.rng.randint(4, 7))
        # One that collides with a field is always among them.
        inner = {name: self._distinct(FIELDS, (), self.rng.randint(1, 3)) for name in structs}
        taken = {self._key(name) for name in (*plain, *structs)}
        dotted = f"{structs[0]}.{inner[structs[0]][0]}"
        if self._key(dotted) not in taken:
            plain.append(dotted)
        if self._key(inner[structs[0]][0]) not in taken:
            plain.append(inner[structs[0]][0])
        names = [*structs, *plain[1:]]
        self.rng.shuffle(names)
        self.columns = [(plain[0], ()), *((name, tuple(inner.get(name, ()))) for name in names)]

    def _key(self, name: str) -> str:
        return name_key(name, self.exact)

    def _distinct(self, pool: Sequence[str], others: Sequence[str], count: int) -> list[str]:
        found: list[str] = []
        for name in self.rng.sample(pool, len(pool)):
            if len(found) < count and self._key(name) not in {self._key(one) for one in (*found, *others)}:
                found.append(name)
        return found

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]

    @property
    def paths(self) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Names and places of all numbers but the key."""
        found: list[tuple[tuple[str, ...], tuple[int, ...]]] = []
        for place, (name, inner) in enumerate(self.columns[1:], start=1):
            found += [((name, one), (place, at)) for at, one in enumerate(inner)] if inner else [((name,), (place,))]
        return found

    def definition(self) -> str:
        listed = []
        for place, (name, inner) in enumerate(self.columns):
            fields = ", ".join(f"{quoted(one)}: INT" for one in inner)
            listed.append(f"{quoted(name)} {f'STRUCT<{fields}>' if inner else 'INT'}{'' if place else ' NOT NULL'}")
        return ", ".join([*listed, *([f"PRIMARY KEY ({quoted(self.names[0])})"] if self.keyed else [])])

    def random_row(self, key: int) -> Row:
        values = [self.random_value(inner) for _, inner in self.columns[1:]]
        return (key, *values)

    def random_value(self, inner: Sequence[str]) -> Any:
        if inner:
            return tuple(self.random_value(()) for _ in inner)
        return None if self.rng.random() < 0.1 else self.rng.randint(0, 9)

    def fresh_keys(self, count: int) -> list[int]:
        there = {row[0] for row in self.rows}
        return self.rng.sample([key for key in range(100) if key not in there], count)

    def literal(self, place: int, value: Any) -> str:
        inner = self.columns[place][1]
        if not inner:
            return "CAST(NULL AS INT)" if value is None else str(value)
        pairs = zip(inner, value, strict=True)
        return f"named_struct({', '.join(f'{text(name)}, {self.literal(0, one)}' for name, one in pairs)})"

    def select(self, rows: Sequence[Row], places: Sequence[int]) -> str:
        """The rows' values at these places, under their columns' names."""
        return " UNION ALL ".join(
            "SELECT " + ", ".join(f"{self.literal(at, row[at])} AS {quoted(self.names[at])}" for at in places)
            for row in rows
        )


def text(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def value_at(row: Row, places: Sequence[int]) -> Any:
    for place in places:
        row = row[place]
    return row


def changed(row: Row, places: Sequence[int], value: Any) -> Row:
    first, *rest = places
    return (*row[:first], changed(row[first], rest, value) if rest else value, *row[first + 1 :])


def plus(value: Any, number: int) -> Any:
    return None if value is None else value + number


Statement = Callable[[NamedTable, str], str]


def insert_columns(table: NamedTable, target: str) -> str:
    """Some columns, in any order."""
    places = [0, *table.rng.sample(range(1, len(table.columns)), table.rng.randint(1, len(table.columns) - 1))]
    table.rng.shuffle(places)
    rows = [table.random_row(key) for key in table.fresh_keys(2)]
    table.rows += [tuple(value if at in places else None for at, value in enumerate(row)) for row in rows]
    listed = ", ".join(quoted(table.names[at]) for at in places)
    return f"INSERT INTO {target} ({listed}) {table.select(rows, places)}"


def update(table: NamedTable, target: str) -> str:
    (path, places), (tested, where) = table.rng.choice(table.paths), table.rng.choice(table.paths)
    number = table.rng.randint(0, 9)
    after = []
    for row in table.rows:
        holder_is_null = len(places) > 1 and row[places[0]] is None
        found = value_of(row, where)
        if found is not None and found <= number:
            if holder_is_null:
                row = changed(row, places[:1], tuple(None for _ in table.columns[places[0]][1]))
            row = changed(row, places, plus(found, 20))
        after.append(row)
    table.rows = after
    return f"UPDATE {target} SET {quoted(*path)} = {quoted(*tested)} + 20 WHERE {quoted(*tested)} <= {number}"


def value_of(row: Row, places: Sequence[int]) -> Any:
    return None if len(places) > 1 and row[places[0]] is None else value_at(row, places)


def delete(table: NamedTable, target: str) -> str:
    path, places = table.rng.choice(table.paths)
    number = table.rng.randint(0, 9)
    table.rows = [row for row in table.rows if value_of(row, places) != number]
    return f"DELETE FROM {target} WHERE {quoted(*path)} = {number}"


def _source(table: NamedTable) -> list[Row]:
    known = table.rng.sample([row[0] for row in table.rows], min(2, len(table.rows)))
    return [table.random_row(key) for key in (*known, *table.fresh_keys(1))]


def merge(table: NamedTable, target: str) -> str:
    """One number of a matched row from another of the source; the source's row where none matches."""
    (path, places), (given, found) = table.rng.choice(table.paths), table.rng.choice(table.paths)
    while len(places) > 1 and any(row[places[0]] is None for row in table.rows):
        path, places = table.rng.choice(table.paths)
    source = _source(table)
    by_key = {row[0]: row for row in source}
    there = {row[0] for row in table.rows}
    after = [
        changed(row, places, plus(value_of(by_key[row[0]], found), 40)) if row[0] in by_key else row
        for row in table.rows
    ]
    table.rows = [*after, *(row for row in source if row[0] not in there)]
    every = table.select(source, range(len(table.columns)))
    listed = ", ".join(map(quoted, table.names))
    values = ", ".join(f"src.{quoted(name)}" for name in table.names)
    key = quoted(table.names[0])
    return (
        f"MERGE INTO {target} AS tgt USING ({every}) AS src ON tgt.{key} = src.{key}"
        f" WHEN MATCHED THEN UPDATE SET {quoted(*path)} = src.{quoted(*given)} + 40"
        f" WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({values})"
    )


def merge_stars(table: NamedTable, target: str) -> str:
    """Whole rows, and those that no source row matches go."""
    source = _source(table)
    table.rows = list(source)
    every = table.select(source, table.rng.sample(range(len(table.columns)), len(table.columns)))
    key = quoted(table.names[0])
    return (
        f"MERGE INTO {target} AS tgt USING ({every}) AS src ON tgt.{key} = src.{key} WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )


def upsert(table: NamedTable, target: str) -> str:
    source = _source(table)
    keys = {row[0] for row in source}
    table.rows = [*(row for row in table.rows if row[0] not in keys), *source]
    key = quoted(table.names[0])
    every = table.select(source, range(len(table.columns)))
    if table.rng.random() < 0.5:
        return f"UPSERT INTO {target} {every}"
    stars = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    return f"MERGE INTO {target} AS tgt USING ({every}) AS src ON tgt.{key} = src.{key} {stars}"


def on_conflict(table: NamedTable, target: str) -> str:
    columns = [(name, at) for at, (name, inner) in enumerate(table.columns) if at and not inner]
    (name, at), (given, found) = table.rng.choice(columns), table.rng.choice(columns)
    source = _source(table)
    by_key = {row[0]: row for row in source}
    there = {row[0] for row in table.rows}
    table.rows = [
        *(changed(row, (at,), plus(by_key[row[0]][found], 60)) if row[0] in by_key else row for row in table.rows),
        *(row for row in source if row[0] not in there),
    ]
    return (
        f"INSERT INTO {target} AS tgt {table.select(source, range(len(table.columns)))}"
        f" ON CONFLICT ({quoted(table.names[0])}) DO UPDATE SET {quoted(name)} = excluded.{quoted(given)} + 60"
    )


def overwrite(table: NamedTable, target: str) -> str:
    table.rows = [table.random_row(key) for key in table.fresh_keys(4)]
    return f"INSERT OVERWRITE {target} {table.select(table.rows, range(len(table.columns)))}"


PLAIN: tuple[Statement, ...] = (insert_columns, update, delete, merge, merge_stars, overwrite)
KEYED: tuple[Statement, ...] = (upsert, on_conflict)
