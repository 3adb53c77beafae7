"""Statements with two meanings: text for an engine, and what they do to a table that is a list of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from fuzz.expressions import TARGET, Expression, literal

Engine = Literal["sqlext", "iceberg"]
Counts: TypeAlias = tuple[int, int, int]
"""Rows inserted, updated, deleted."""


class Refused(Exception):
    """The statement is an error; it has the condition's name, and changes nothing."""


@dataclass
class Table:
    """Columns with their types, the key's names, and the rows."""

    columns: dict[str, str]
    key: tuple[str, ...]
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Statement:
    def sql(self, table: str, engine: Engine) -> str | None:
        """The text; None where the engine has no such statement and the table stays as it is."""
        text = self.text(table, engine)
        return None if text is None else text.replace(TARGET, table)

    def text(self, table: str, engine: Engine) -> str | None:
        """The same, with `TARGET` in its expressions."""
        raise NotImplementedError

    def apply(self, table: Table) -> Counts | None:
        """Changes the table. KeyError where a column is not there, so that the statement cannot stand here."""
        raise NotImplementedError

    def is_doubled_by_iceberg(self, table: Table) -> bool:
        """Whether Iceberg, with copy-on-write, writes rows of the table twice that the statement leaves as they are."""
        return False


def values(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """A relation of the rows, of which there may be none."""
    if not rows:
        nothing = ", ".join(f"{literal(None, type_)} AS {name}" for name, type_ in columns.items())
        return f"(SELECT {nothing} WHERE false) AS v"
    listed = ", ".join(f"({', '.join(literal(row[name], type_) for name, type_ in columns.items())})" for row in rows)
    return f"VALUES {listed} AS v({', '.join(columns)})"


@dataclass(frozen=True)
class Insert(Statement):
    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]

    def text(self, table: str, engine: Engine) -> str:
        return f"INSERT INTO {table} ({', '.join(self.columns)}) SELECT * FROM {values(self.rows, self.columns)}"

    def apply(self, table: Table) -> Counts:
        require(self.columns, table)
        table.rows += [{name: row.get(name) for name in table.columns} for row in self.rows]
        return len(self.rows), 0, 0


@dataclass(frozen=True)
class Delete(Statement):
    where: Expression

    def text(self, table: str, engine: Engine) -> str:
        if engine == "iceberg" and "SELECT" not in self.where.sql:
            # By metadata it drops files with nulls where the condition is `<>`, or NOT b; with a function it reads.
            return f"DELETE FROM {table} WHERE coalesce({self.where.sql}, false)"
        return f"DELETE FROM {table} WHERE {self.where.sql}"

    def apply(self, table: Table) -> Counts:
        kept = [row for row in table.rows if self.where.of({**row, TARGET: table.rows}) is not True]
        deleted = len(table.rows) - len(kept)
        table.rows = kept
        return 0, 0, deleted


@dataclass(frozen=True)
class Update(Statement):
    assignments: Mapping[str, Expression]
    where: Expression

    def text(self, table: str, engine: Engine) -> str:
        return f"UPDATE {table} SET {assigned(self.assignments)} WHERE {self.where.sql}"

    def apply(self, table: Table) -> Counts:
        require(self.assignments, table)
        rows, changed = [], 0
        for row in table.rows:
            seen = {**row, TARGET: table.rows}
            hit = self.where.of(seen) is True
            changed += hit
            rows.append({**row, **{name: value.of(seen) for name, value in self.assignments.items()}} if hit else row)
        table.rows = rows
        return 0, changed, 0


@dataclass(frozen=True)
class Clause:
    """`assignments` is None for DELETE and for a star."""

    kind: Literal["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"]
    action: Literal["UPDATE", "INSERT", "DELETE"]
    condition: Expression | None = None
    assignments: Mapping[str, Expression] | None = None

    def sql(self) -> str:
        test = f" AND {self.condition.sql}" if self.condition else ""
        return f"WHEN {self.kind}{test} THEN {self._action()}"

    def _action(self) -> str:
        if self.action == "DELETE":
            return "DELETE"
        if self.assignments is None:
            return "UPDATE SET *" if self.action == "UPDATE" else "INSERT *"
        if self.action == "UPDATE":
            return f"UPDATE SET {assigned(self.assignments)}"
        values = ", ".join(value.sql for value in self.assignments.values())
        return f"INSERT ({', '.join(self.assignments)}) VALUES ({values})"

    def holds(self, row: Mapping[str, Any]) -> bool:
        return self.condition is None or self.condition.of(row) is True


@dataclass(frozen=True)
class Merge(Statement):
    """`on` are the columns that are compared by `=`. The source is `rows`, or the target's own where `own` holds."""

    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]
    on: tuple[str, ...]
    clauses: tuple[Clause, ...]
    own: Expression | None = None

    def text(self, table: str, engine: Engine) -> str:
        test = " AND ".join(f"t.{name} = s.{name}" for name in self.on)
        own = f"(SELECT {', '.join(self.columns)} FROM {TARGET} WHERE {self.own.sql})" if self.own else None
        source = own or f"(SELECT * FROM {values(self.rows, self.columns)})"
        return f"MERGE INTO {table} AS t USING {source} AS s ON {test} {' '.join(one.sql() for one in self.clauses)}"

    def apply(self, table: Table) -> Counts:
        require(self.columns, table)
        counts: Counter[str] = Counter()
        sources = self._sources(table)
        rows: list[dict[str, Any]] = []
        for row in table.rows:
            rows += self._changed(row, sources, table, counts)
        for source in sources:
            if not any(self._match(row, source) for row in table.rows):
                rows += self._inserted(source, table, counts)
        table.rows = rows
        return counts["INSERT"], counts["UPDATE"], counts["DELETE"]

    def _match(self, row: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
        return all(row[name] is not None and row[name] == source[name] for name in self.on)

    def _changed(
        self, row: dict[str, Any], sources: Sequence[Mapping[str, Any]], table: Table, counts: Counter[str]
    ) -> list[dict[str, Any]]:
        matches = [source for source in sources if self._match(row, source)]
        kind = "MATCHED" if matches else "NOT MATCHED BY SOURCE"
        hits = []
        for source in matches or [{}]:
            seen = seen_by({"t": row, "s": source}, table)
            clause = next((one for one in self.clauses if one.kind == kind and one.holds(seen)), None)
            if clause is not None:
                hits.append((clause, seen))
        if len(matches) > 1 and self._counts_matches():
            raise Refused("MERGE_CARDINALITY_VIOLATION")
        if not hits:
            return [row]
        clause, seen = hits[0]
        counts[clause.action] += 1
        if clause.action == "DELETE":
            return []
        if clause.assignments is None:
            return [{name: seen[f"s.{name}"] if name in self.columns else row[name] for name in table.columns}]
        return [{**row, **{name: value.of(seen) for name, value in clause.assignments.items()}}]

    def is_doubled_by_iceberg(self, table: Table) -> bool:
        """Rows that two of the source match, where no clause is about rows that match."""
        if any(clause.kind == "MATCHED" for clause in self.clauses):
            return False
        sources = self._sources(table)
        return any(sum(self._match(row, source) for source in sources) > 1 for row in table.rows)

    def _sources(self, table: Table) -> Sequence[Mapping[str, Any]]:
        if not self.own:
            return self.rows
        return [row for row in table.rows if self.own.of({**row, TARGET: table.rows}) is True]

    def _counts_matches(self) -> bool:
        """Two source rows may match one row where no clause is about that, or the only one deletes whatever matches."""
        matched = [clause for clause in self.clauses if clause.kind == "MATCHED"]
        deletes_all = len(matched) == 1 and matched[0].action == "DELETE" and matched[0].condition is None
        return bool(matched) and not deletes_all

    def _inserted(self, source: Mapping[str, Any], table: Table, counts: Counter[str]) -> list[dict[str, Any]]:
        seen = seen_by({"s": source}, table)
        clause = next((one for one in self.clauses if one.kind == "NOT MATCHED" and one.holds(seen)), None)
        if clause is None:
            return []
        counts["INSERT"] += 1
        if clause.assignments is None:
            return [{name: source.get(name) for name in table.columns}]
        given = {name: value.of(seen) for name, value in clause.assignments.items()}
        return [{name: given.get(name) for name in table.columns}]


@dataclass(frozen=True)
class Alter(Statement):
    """A change of the table that leaves the rows, but for the columns `added`, `dropped` and the like."""

    change: str
    added: tuple[str, str] | None = None
    dropped: str | None = None
    renamed: tuple[str, str] | None = None
    moved: str | None = None
    widened: tuple[str, str] | None = None
    for_iceberg: bool = True

    def text(self, table: str, engine: Engine) -> str | None:
        return f"ALTER TABLE {table} {self.change}" if engine == "sqlext" or self.for_iceberg else None

    def apply(self, table: Table) -> None:
        if self.added:
            name, type_ = self.added
            table.columns[name] = type_
            for row in table.rows:
                row[name] = None
        if self.dropped:
            del table.columns[self.dropped]
            for row in table.rows:
                del row[self.dropped]
        if self.moved:
            table.columns = {self.moved: table.columns[self.moved], **table.columns}
        if self.widened:
            name, type_ = self.widened
            require((name,), table)
            table.columns[name] = type_
        if self.renamed:
            old, new = self.renamed
            require((old,), table)
            table.columns = {new if name == old else name: type_ for name, type_ in table.columns.items()}
            table.rows = [{new if name == old else name: value for name, value in row.items()} for row in table.rows]


def assigned(assignments: Mapping[str, Expression]) -> str:
    return ", ".join(f"{name} = {value.sql}" for name, value in assignments.items())


def seen_by(rows: Mapping[str, Mapping[str, Any]], table: Table) -> dict[str, Any]:
    """What an expression sees of rows, by the names of their relations."""
    seen = {f"{relation}.{name}": value for relation, row in rows.items() for name, value in row.items()}
    return {**seen, TARGET: table.rows}


def require(names: object, table: Table) -> None:
    for name in names:  # type: ignore[attr-defined]
        if name not in table.columns:
            raise KeyError(name)
