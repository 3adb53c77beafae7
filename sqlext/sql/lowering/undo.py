"""The reverse of a snapshot's changes of rows, as one SELECT of changes to the table as it is now.

A row that the snapshot inserted is found in the table by its values; in a table with a key, these contain the key, and
in a table with row ids and without a key its row id is compared too. Of equal rows as many are deleted as the snapshot
inserted. A row that it deleted is inserted again; by key or row id it replaces the row that the snapshot put in its
place. Where row ids are compared, it has the row id that it had (spec: Row Lineage), so that it is the row that earlier
snapshots wrote, should these be undone too.

Values that Spark does not compare are compared by expressions beside them (`compared_value`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlext.spec.field_path import FieldPath
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.spec.types import has_equality
from sqlext.sql.lowering.changes import ChangeStep, difference
from sqlext.sql.lowering.compared_value import compared_value
from sqlext.sql.lowering.text import selected
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string

_ROW_ID = quote_identifier(ROW_ID.name)
_PLACE = ("`_file`", "`_pos`")
_COPIES, _COPY, _BACK = "`__sqlext_copies`", "`__sqlext_copy`", "`__sqlext_back`"
_UNION = "\nUNION ALL\n"


@dataclass(frozen=True, slots=True)
class UndoneChange:
    """What the snapshot changed (`step`), in a table of the columns of `schema`; `target` is the text of its newest
    version. `key` has the paths of the key's columns, `by_row_id` compares row ids; without either rows are known by
    their values alone. `keeps_row_ids`: the table has row ids, and a replaced row keeps its own.
    """

    step: ChangeStep
    target: str
    schema: Schema
    key: tuple[FieldPath, ...] = ()
    by_row_id: bool = False
    keeps_row_ids: bool = False

    def lowered(self) -> str:
        """Operation, file, position and columns of each row to delete, replace or insert, and its row id."""
        went, came = self._sides(self.step)
        if went and came and self._pair:
            return self._paired(_UNION.join(went), _UNION.join(came))
        parts = []
        if came:
            parts.append(
                f"SELECT {self._operations('1Y', *_PLACE, _ROW_ID)}\nFROM (\n{self._found(_UNION.join(came))}\n)"
            )
        if went:
            row_id = _ROW_ID if self.by_row_id else "CAST(NULL AS BIGINT)"
            nulls = ("CAST(NULL AS STRING)", "CAST(NULL AS BIGINT)", row_id)
            parts.append(f"SELECT {self._operations('3Y', *nulls)}\nFROM (\n{_UNION.join(went)}\n)")
        if not parts:
            return f"SELECT {self._operations('1Y', *_PLACE, _ROW_ID)}\nFROM {self.target}\nWHERE false"
        return _UNION.join(parts)

    def in_the_way(self, later: ChangeStep, most: int) -> str:
        """Up to `most` rows that keep the snapshot from being undone, as the `later` changes of the table were on them:
        keys that both changed, else rows that the snapshot inserted and that are not there any more."""
        if self.key:
            shown = _named(zip(map(".".join, self.key), self._key, strict=True))
            return f"SELECT DISTINCT {shown}\nFROM (\n{self._keys_of_both(later)}\n)\nLIMIT {most}"
        _, came = self._sides(self.step)
        if not came:
            return f"SELECT {self._listed(self._columns)}\nFROM {self.target}\nWHERE false"
        rows = f"SELECT {self._listed(self._matched)} FROM (\n{_UNION.join(came)}\n)"
        there = (
            f"SELECT {self._listed(self._matched, '`__sqlext_now`')}\nFROM {self._now()} AS `__sqlext_now`"
            f"\nLEFT SEMI JOIN (\n{rows}\n) AS `__sqlext_came`\nON {self._equal('`__sqlext_came`')}"
        )
        shown = _named(zip(self._read, self._matched, strict=True)) if self._stand_ins else "*"
        return f"SELECT {shown} FROM (\n({rows})\nEXCEPT ALL\n({there})\n)\nLIMIT {most}"

    def _keys_of_both(self, later: ChangeStep) -> str:
        own, others = (
            f"SELECT {self._listed(self._key)} FROM (\n{_UNION.join([*went, *came]) or self._no_rows()}\n)"
            for went, came in (self._sides(self.step), self._sides(later))
        )
        equal = " AND ".join(
            f"`__sqlext_own`.{key} = `__sqlext_later`.{key}" for key in map(quote_identifier, self._key)
        )
        joined = f"(\n{own}\n) AS `__sqlext_own`\nLEFT SEMI JOIN (\n{others}\n) AS `__sqlext_later`"
        return f"SELECT * FROM {joined}\nON {equal}"

    def _no_rows(self) -> str:
        return f"SELECT * FROM {self._now()} WHERE false"

    def _sides(self, step: ChangeStep) -> tuple[list[str], list[str]]:
        """The rows that a step deleted and inserted, with their row ids if these are compared."""
        sides = difference(step, [quote_identifier(name) for name in self._read], self.schema)
        # In parentheses, since UNION and EXCEPT bind alike, from the left.
        more = f"SELECT *, {', '.join(self._compared)} FROM " if self._compared else ""
        went, came = ([f"({more}({part}))" if more else f"({part})" for part in side] for side in sides)
        return went, came

    def _now(self) -> str:
        """The rows of the table, with their places and row ids."""
        hidden = [*_PLACE, *([_ROW_ID] if self.keeps_row_ids else []), *self._compared]
        return f"(SELECT {self._listed(self._columns)}, {', '.join(hidden)} FROM {self.target})"

    def _found(self, came: str) -> str:
        """The rows of the table that the snapshot inserted, each of them once. Of equal rows those in the files that it
        added are first, since a file without rows is removed whole."""
        matched = self._listed(self._matched)
        counted = f"SELECT {matched}, count(*) AS {_COPIES}\nFROM (\n{came}\n)\nGROUP BY {matched}"
        added = ", ".join(map(quote_string, self.step.added))
        order = ", ".join([*([f"`_file` NOT IN ({added})"] if added else []), *_PLACE])
        equal = self._listed(self._matched, "`__sqlext_now`")
        number = f"row_number() OVER (PARTITION BY {equal} ORDER BY {order})"
        numbered = (
            f"SELECT `__sqlext_now`.*, {_COPIES}, {number} AS {_COPY}\nFROM {self._now()} AS `__sqlext_now`"
            f"\nJOIN (\n{counted}\n) AS `__sqlext_came`\nON {self._equal('`__sqlext_came`')}"
        )
        return f"SELECT * FROM (\n{numbered}\n)\nWHERE {_COPY} <= {_COPIES}"

    def _paired(self, went: str, came: str) -> str:
        """The rows to delete, each with the row that takes its place, if there is one."""
        pair = self._listed(self._pair)
        copy = f"row_number() OVER (PARTITION BY {pair} ORDER BY {pair}) AS `__sqlext_number`"
        old = f"(SELECT *, {copy} FROM (\n{self._found(came)}\n)) AS `__sqlext_old`"
        new = f"(SELECT *, true AS {_BACK}, {copy} FROM (\n{went}\n)) AS `__sqlext_new`"
        equal = " AND ".join(
            f"`__sqlext_old`.{name} = `__sqlext_new`.{name}"
            for name in (*map(quote_identifier, self._pair), "`__sqlext_number`")
        )
        columns = [
            (f"CASE WHEN `__sqlext_old`.`_file` IS NULL THEN 3Y WHEN {_BACK} THEN 2Y ELSE 1Y END", "__operation"),
            ("`__sqlext_old`.`_file`", "_file"),
            ("`__sqlext_old`.`_pos`", "_pos"),
        ]
        for name in self._columns:
            column = quote_identifier(name)
            columns.append((f"CASE WHEN {_BACK} THEN `__sqlext_new`.{column} ELSE `__sqlext_old`.{column} END", name))
        if self.keeps_row_ids:
            own = f"`__sqlext_old`.{_ROW_ID}"
            columns.append((f"coalesce({own}, `__sqlext_new`.{_ROW_ID})" if self.by_row_id else own, ROW_ID.name))
        return f"SELECT {selected(columns)}\nFROM {old}\nFULL OUTER JOIN {new}\nON {equal}"

    def _operations(self, operation: str, file: str, position: str, row_id: str) -> str:
        columns = [(operation, "__operation"), (file, "_file"), (position, "_pos")]
        columns += [(quote_identifier(name), name) for name in self._columns]
        columns += [(row_id, ROW_ID.name)] if self.keeps_row_ids else []
        return selected(columns)

    def _equal(self, came: str) -> str:
        names = map(quote_identifier, self._matched)
        return " AND ".join(f"`__sqlext_now`.{name} <=> {came}.{name}" for name in names)

    def _listed(self, names: Sequence[str], of: str = "") -> str:
        return ", ".join(f"{of}.{quote_identifier(name)}" if of else quote_identifier(name) for name in names)

    @property
    def _columns(self) -> Sequence[str]:
        return [field.name for field in self.schema.fields]

    @property
    def _read(self) -> Sequence[str]:
        """The columns of the table, and the row id if it is compared."""
        return [*self._columns, *([ROW_ID.name] if self.by_row_id else [])]

    @property
    def _matched(self) -> Sequence[str]:
        """The columns by which a row that the snapshot inserted is found, one for each of `_read`."""
        return [self._stand_ins.get(name, name) for name in self._read]

    @property
    def _compared(self) -> Sequence[str]:
        """The columns that stand in for those that Spark does not compare, and for fields of structs in the key, as
        parts of a select list."""
        fields = ((field, self._stand_ins.get(field.name)) for field in self.schema.fields)
        compared = [
            f"{compared_value(quote_identifier(field.name), field.type)} AS {quote_identifier(name)}"
            for field, name in fields
            if name is not None
        ]
        nested = (pair for pair in zip(self.key, self._key, strict=True) if len(pair[0]) > 1)
        return [*compared, *(f"{quote_name(path)} AS {quote_identifier(name)}" for path, name in nested)]

    @property
    def _stand_ins(self) -> Mapping[str, str]:
        """The names of the columns that stand in for those that Spark does not compare, by these."""
        return {
            field.name: f"__sqlext_c{number}"
            for number, field in enumerate(self.schema.fields)
            if not has_equality(field.type)
        }

    @property
    def _pair(self) -> Sequence[str]:
        """The columns by which a deleted row takes an inserted one's place."""
        return self._key or ([ROW_ID.name] if self.by_row_id else [])

    @property
    def _key(self) -> Sequence[str]:
        """The key's columns, with a column that stands in for a field of a struct."""
        return [path[0] if len(path) == 1 else f"__sqlext_k{number}" for number, path in enumerate(self.key)]


def _named(columns: Iterable[tuple[str, str]]) -> str:
    """A select list of columns, each a pair of its name in the result and its own."""
    return ", ".join(
        quote_identifier(own) if own == name else f"{quote_identifier(own)} AS {quote_identifier(name)}"
        for name, own in columns
    )
