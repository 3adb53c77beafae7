"""What a merge engine knows of a column's values in the rows of one key, as texts of SQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceValues:
    """Texts: of each row its `value`, its `place` in the order of rows, whether it `counts`, whether it is `late`, that
    is, precedes the stored row, and whether it `takes` its value back (retracts it); of the key the `stored` value, and
    whether a row `is_stored`.

    `late` and `takes` are None if no row is late or retracts.
    """

    value: str
    place: str
    counts: str
    stored: str
    is_stored: str
    late: str | None = None
    takes: str | None = None

    def where(self, *conditions: str) -> str:
        """The filter of an aggregate over the rows that count and satisfy the conditions."""
        return f"FILTER (WHERE {' AND '.join((self.counts, *conditions))})"

    @property
    def in_time(self) -> tuple[str, ...]:
        return () if self.late is None else (f"NOT {self.late}",)

    @property
    def brings(self) -> tuple[str, ...]:
        return () if self.takes is None else (f"NOT {self.takes}",)

    @property
    def is_value(self) -> str:
        return f"{self.value} IS NOT NULL"

    def in_order(self, *conditions: str) -> str:
        """The values that are not null, of the rows that satisfy the conditions, as an array in the order of rows."""
        return f"transform({self._sorted('', *conditions)}, x -> x.v)"

    def signed(self, *conditions: str) -> str:
        """As `in_order`, each value `v` with whether it is taken back, `t`."""
        sign = f"'t', {self.takes or 'false'}, "
        return f"transform({self._sorted(sign, *conditions)}, x -> named_struct('t', x.t, 'v', x.v))"

    def _sorted(self, sign: str, *conditions: str) -> str:
        row = f"named_struct('p', {self.place}, {sign}'v', {self.value})"
        listed = f"collect_list({row}) {self.where(self.is_value, *conditions)}"
        compared = "CASE WHEN l.p < r.p THEN -1 WHEN l.p > r.p THEN 1 ELSE 0 END"
        return f"array_sort({listed}, (l, r) -> {compared})"
