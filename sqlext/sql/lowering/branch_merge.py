"""The three-way merge of two branches of a table with a key: what each changed since their common ancestor, by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.spec.schema import Schema
from sqlext.sql.lowering.changes import ChangeStep, difference
from sqlext.sql.lowering.compared_value import compared_row
from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string

_UNION = "\nUNION ALL\n"
_ROW, _SAME, _GONE = "__sqlext_row", "__sqlext_same", "__sqlext_gone"


@dataclass(frozen=True, slots=True)
class BranchMerge:
    """`ours` are the changes of the branch that is merged into, `theirs` those of the other one."""

    schema: Schema
    ours: ChangeStep
    theirs: ChangeStep

    def repeated_keys(self, most: int) -> str | None:
        """A SELECT of a JSON text for up to `most` keys that `theirs` changed and that occur several times before the
        changes, in ours or in theirs; None if it changed none.

        The rows of ours are read, and the others are counted from them by the changes.
        """
        columns = [quote_identifier(field.name) for field in self.schema.fields]
        went, came = difference(self.theirs, columns, self.schema)
        if not (went or came):
            return None
        our_went, our_came = difference(self.ours, columns, self.schema)
        keys = ", ".join(map(quote_identifier, self._keys))
        counted = [([f"SELECT {keys} FROM {self.ours.after}"], (1, 1, 1))]
        counted += [(our_came, (0, -1, -1)), (our_went, (0, 1, 1)), (went, (0, 0, -1)), (came, (0, 0, 1))]
        rows = _UNION.join(
            f"SELECT {keys}, {ours} AS `__sqlext_ours`, {base} AS `__sqlext_base`, {theirs} AS `__sqlext_theirs`"
            f" FROM ({_UNION.join(parts)})"
            for parts, (ours, base, theirs) in counted
            if parts
        )
        changed = _UNION.join(f"SELECT {keys} FROM ({rows})" for rows in (*went, *came))
        several = " OR ".join(f"sum(`__sqlext_{side}`) > 1" for side in ("ours", "base", "theirs"))
        shown = ", ".join(f"{quote_string(key)}, {quote_identifier(key)}" for key in self._keys)
        return (
            f"SELECT to_json(named_struct({shown})) AS `key`\nFROM ({rows}) AS `__sqlext_r`"
            f" LEFT SEMI JOIN ({changed}) AS `__sqlext_c` ON {self._equal('__sqlext_r', '__sqlext_c')}"
            f"\nGROUP BY {keys} HAVING {several}\nLIMIT {most}"
        )

    def conflicts(self) -> str | None:
        """A SELECT of a JSON text for each key whose row both changed to different ones; None if there can be none."""
        ours, theirs = self._side(self.ours), self._side(self.theirs)
        if ours is None or theirs is None:
            return None
        keys = ", ".join(f"{quote_string(key)}, `t`.{quote_identifier(key)}" for key in self._keys)
        shown = f"named_struct('key', named_struct({keys}), 'ours', `o`.`{_ROW}`, 'theirs', `t`.`{_ROW}`)"
        return (
            f"SELECT to_json({shown}) AS `conflict`\nFROM ({theirs}) AS `t` JOIN ({ours}) AS `o`"
            f" ON {self._equal('t', 'o')}\nWHERE NOT `t`.`{_SAME}` <=> `o`.`{_SAME}`"
        )

    def applied(self, *, over_ours: bool) -> str | None:
        """A SELECT of the table's columns and whether the row is gone, of the changes to apply; None without any.

        Conflicting ones are among them with `over_ours` alone.
        """
        ours, theirs = self._side(self.ours), self._side(self.theirs)
        if theirs is None:
            return None
        values = ", ".join(
            f"`t`.{quote_identifier(name)}"
            if name in self._keys
            else f"`t`.{quote_name((_ROW, name))} AS {quote_identifier(name)}"
            for name in (field.name for field in self.schema.fields)
        )
        selected = f"SELECT {values}, `t`.`{_GONE}`\nFROM ({theirs}) AS `t`"
        if ours is None:
            return selected
        joined = f"{selected} LEFT OUTER JOIN ({ours}) AS `o` ON {self._equal('t', 'o')}"
        differs = f" OR NOT `t`.`{_SAME}` <=> `o`.`{_SAME}`" if over_ours else ""
        return f"{joined}\nWHERE `o`.`{_GONE}` IS NULL{differs}"

    def statement(self, target: Sequence[str], applied: str) -> str:
        """A MERGE of the changes `applied` into `target`."""
        columns = [quote_identifier(field.name) for field in self.schema.fields]
        others = [quote_identifier(field.name) for field in self.schema.fields if field.name not in self._keys]
        sets = ", ".join(f"{name} = `__sqlext_s`.{name}" for name in others or columns)
        values = ", ".join(f"`__sqlext_s`.{name}" for name in columns)
        gone = f"`__sqlext_s`.`{_GONE}`"
        return (
            f"MERGE INTO {quote_name(target)} AS `__sqlext_t` USING (\n{applied}\n) AS `__sqlext_s`"
            f"\nON {self._equal('__sqlext_t', '__sqlext_s', '=')}"
            f"\nWHEN MATCHED AND {gone} THEN DELETE\nWHEN MATCHED THEN UPDATE SET {sets}"
            f"\nWHEN NOT MATCHED AND NOT {gone} THEN INSERT ({', '.join(columns)}) VALUES ({values})"
        )

    @property
    def _keys(self) -> list[str]:
        return [field.name for field in self.schema.identifier_fields]

    def _equal(self, one: str, other: str, operator: str = "<=>") -> str:
        names = map(quote_identifier, self._keys)
        return " AND ".join(f"`{one}`.{name} {operator} `{other}`.{name}" for name in names)

    def _side(self, step: ChangeStep) -> str | None:
        """The keys whose rows changed, each with its new row, a value that is equal for equal rows, and whether the row
        is gone."""
        columns = [quote_identifier(field.name) for field in self.schema.fields]
        went, came = difference(step, columns, self.schema)
        if not (went or came):
            return None
        keys = [quote_identifier(key) for key in self._keys]
        pairs = ", ".join(f"{quote_string(field.name)}, {quote_identifier(field.name)}" for field in self.schema.fields)
        nothing = f"SELECT {', '.join(columns)} FROM {step.after} WHERE false"
        new = (
            f"SELECT {', '.join(keys)}, named_struct({pairs}) AS `{_ROW}`,"
            f" {compared_row(columns, self.schema)} AS `{_SAME}` FROM ({_UNION.join(came) or nothing})"
        )
        old = f"SELECT DISTINCT {', '.join(keys)} FROM ({_UNION.join(went) or nothing})"
        named = ", ".join(f"coalesce(`n`.{key}, `w`.{key}) AS {key}" for key in keys)
        return (
            f"SELECT {named}, `n`.`{_ROW}`, `n`.`{_SAME}`, `n`.`{_ROW}` IS NULL AS `{_GONE}`"
            f" FROM ({new}) AS `n` FULL OUTER JOIN ({old}) AS `w` ON {self._equal('n', 'w')}"
        )
