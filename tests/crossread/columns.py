"""The columns of a random table: trees of types with SQL text, literals, and the changes that the format allows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from crossread.values import RARE, RARE_IN_VERSION_3, SCALARS, VALUE_TYPES, WIDENED, scalar_literal

_NULLS = 0.15
_RARE = 0.15
_UNUSUAL = (
    "Mixed{n}",
    "a.b{n}",
    "tick`{n}",
    "žluť{n}",
    "select{n}",
    "it's{n}",
    'dq"{n}',
    "{n}digit",
    "_x{n}",
    "sp ace{n}",
    "hy-phen{n}",
    "sl/ash{n}",
    "col{n}=x",
    "🐎{n}",
)


@dataclass
class Struct:
    """A struct, whose fields change."""

    fields: list[Column]


@dataclass
class Array:
    element: Type


@dataclass
class Map:
    value: Type


# A scalar is its SQL name; maps have string keys.
Type: TypeAlias = "str | Struct | Array | Map"


@dataclass(eq=False)
class Column:
    """A column or a field of a struct; `path` leads to it in SQL."""

    name: str
    type: Type
    parent: str = ""

    @property
    def path(self) -> str:
        return self.parent + quoted(self.name)


def quoted(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and name.islower() else f"`{name.replace('`', '``')}`"


def sql_type(type_: Type) -> str:
    match type_:
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{quoted(one.name)}: {sql_type(one.type)}' for one in fields)}>"
        case Array(element):
            return f"ARRAY<{sql_type(element)}>"
        case Map(value):
            return f"MAP<STRING, {sql_type(value)}>"
        case scalar:
            return scalar


def value_type(type_: Type) -> Type:
    """The type of Spark's in which values come."""
    match type_:
        case Struct(fields):
            return Struct([Column(one.name, value_type(one.type), one.parent) for one in fields])
        case Array(element):
            return Array(value_type(element))
        case Map(value):
            return Map(value_type(value))
        case scalar:
            return VALUE_TYPES.get(scalar, scalar)


def literal(type_: Type, rng: random.Random) -> str:
    """A value of exactly this type, or of Spark's for it, null now and then at any depth."""
    if rng.random() < _NULLS:
        return f"CAST(NULL AS {sql_type(value_type(type_))})"
    match type_:
        case Struct(fields):
            pairs = ", ".join(f"'{_text(one.name)}', {literal(one.type, rng)}" for one in fields)
            made = f"named_struct({pairs})"
        case Array(element):
            made = f"array({', '.join(literal(element, rng) for _ in range(rng.randrange(3)))})"
        case Map(value):
            made = f"map({', '.join(f'{key!r}, {literal(value, rng)}' for key in ('a', 'b')[: rng.randrange(3)])})"
        case scalar:
            return scalar_literal(scalar, rng)
    return f"CAST({made} AS {sql_type(value_type(type_))})"


def _text(name: str) -> str:
    return name.replace("'", "\\'")


@dataclass
class Columns:
    """The top-level columns; the first is the id, which stays. `fixed` are those that some partitioning was made of."""

    rng: random.Random
    unusual: bool
    format_version: int
    columns: list[Column] = field(default_factory=list)
    fixed: set[Column] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add(self, type_: Type | None = None) -> Column:
        added = Column(self.new_name(), type_ or self._random_type())
        self._own_fields(added)
        self.columns.append(added)
        return added

    def new_name(self) -> str:
        number = next(self._numbers)
        return (self.rng.choice(_UNUSUAL) if self.unusual and self.rng.random() < 0.7 else "c{n}").format(n=number)

    def scalars(self) -> list[Column]:
        return [one for one in self.columns if isinstance(one.type, str)]

    # Each of these changes the columns and gives the rest of an ALTER TABLE, or None where there is nothing to change.

    def add_column(self) -> str:
        """Anywhere: at the end, first, after another one, or in a struct."""
        structs = list(self._structs())
        if structs and self.rng.random() < 0.5:
            path, struct = self.rng.choice(structs)
            added = Column(self.new_name(), self._scalar(), path)
            struct.fields.append(added)
            return f"ADD COLUMN {added.path} {sql_type(added.type)}"
        added = self.add()
        return f"ADD COLUMN {added.path} {sql_type(added.type)}{self._position(added)}"

    def move_column(self) -> str | None:
        column = self.rng.choice(self.columns[1:])
        position = self._position(column)
        return f"ALTER COLUMN {column.path}{position}" if position else None

    def _position(self, column: Column) -> str:
        chance = self.rng.random()
        if chance < 0.5:
            return ""
        self.columns.remove(column)
        if chance < 0.7:
            self.columns.insert(0, column)
            return " FIRST"
        before = self.rng.randrange(len(self.columns))
        self.columns.insert(before + 1, column)
        return f" AFTER {self.columns[before].path}"

    def rename_column(self) -> str:
        column = self.rng.choice([*self.columns, *(one for _, struct in self._structs() for one in struct.fields)])
        old, column.name = column.path, self.new_name()
        self._own_fields(column)
        return f"RENAME COLUMN {old} TO {quoted(column.name)}"

    def widen_column(self) -> str | None:
        # Iceberg itself does not promote what a transform other than identity is made of.
        everywhere = [*self.columns, *(one for _, struct in self._structs() for one in struct.fields)]
        choices = [one for one in everywhere if isinstance(one.type, str) and one.type in WIDENED]
        choices = [one for one in choices if one not in self.fixed]
        if not choices:
            return None
        column = self.rng.choice(choices)
        column.type = WIDENED[str(column.type)]
        return f"ALTER COLUMN {column.path} TYPE {column.type}"

    def drop_column(self, keep: Column) -> str | None:
        # one field is left, and not of nulls alone
        inner = [(struct, one) for _, struct in self._structs() for one in struct.fields[1:]]
        if inner and self.rng.random() < 0.5:
            struct, column = self.rng.choice(inner)
            struct.fields.remove(column)
            return f"DROP COLUMN {column.path}"
        # A column that a partition field was ever made of stays: Iceberg's own readers fail without it.
        outer = [one for one in self.columns if one is not keep and one not in self.fixed]
        if len(self.columns) < 4 or not outer:
            return None
        column = self.rng.choice(outer)
        self.columns.remove(column)
        return f"DROP COLUMN {column.path}"

    def comment(self) -> str:
        return f"ALTER COLUMN {self.rng.choice(self.columns).path} COMMENT 'it''s \"{self.rng.randrange(9)}\" \\\\ ž'"

    def needs_parquet(self) -> bool:
        """Whether there are types for which other formats have nothing."""
        return any("VARIANT" in text or "VOID" in text for text in (sql_type(one.type) for one in self.columns))

    def keep_values_only(self) -> None:
        """What is left of the columns when a table is made of their values."""
        for column in self.columns:
            column.type = value_type(column.type)
            self._own_fields(column)

    def _random_type(self) -> Type:
        return self._nested() if self.rng.random() < 0.2 else self._scalar()

    def _scalar(self, *, void: bool = True) -> str:
        if self.rng.random() >= _RARE:
            return self.rng.choice(list(SCALARS))
        rare = [*RARE, *(RARE_IN_VERSION_3 if self.format_version > 2 else ())]
        return self.rng.choice([one for one in rare if void or one != "VOID"])

    def _nested(self) -> Type:
        def scalar() -> str:
            return self._scalar(void=False)

        def struct() -> Struct:
            # a struct of nulls only is in no file
            first = Column(self.new_name(), scalar())
            return Struct(
                [first, *(Column(self.new_name(), self._scalar()) for _ in range(self.rng.choice([0, 1, 2])))]
            )

        makers: list[Callable[[], Type]] = [
            struct,
            lambda: Array(scalar()),
            lambda: Map(scalar()),
            lambda: Array(struct()),
            lambda: Map(struct()),
            lambda: Struct([Column(self.new_name(), struct()), Column(self.new_name(), scalar())]),
        ]
        return self.rng.choice(makers)()

    def _own_fields(self, column: Column) -> None:
        """Gives the fields below a column their paths."""
        for path, struct in self._structs_of(column.type, column.path):
            for inner in struct.fields:
                inner.parent = path

    def _structs(self) -> Iterator[tuple[str, Struct]]:
        for column in self.columns:
            yield from self._structs_of(column.type, column.path)

    def _structs_of(self, type_: Type, path: str) -> Iterator[tuple[str, Struct]]:
        """Every struct in a type, with the path that its fields' paths begin with."""
        match type_:
            case Struct(fields):
                yield path + ".", type_
                for one in fields:
                    yield from self._structs_of(one.type, f"{path}.{quoted(one.name)}")
            case Array(element):
                yield from self._structs_of(element, f"{path}.element")
            case Map(value):
                yield from self._structs_of(value, f"{path}.value")
