"""The time of a partition, by its values (Paimon: `partition.timestamp-pattern`, `partition.timestamp-formatter`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlext.spec.transform import IdentityTransform, Transform, YearTransform

# Letters of Java's DateTimeFormatter, by number where that matters.
_LETTERS = {"yyyy": "%Y", "uuuu": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "DDD": "%j"}
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_DEFAULT = re.compile(
    r"(\d{1,10})-(\d{1,2})(?:-(\d{1,2})(?:[ T-](\d{1,2})(?::(\d{1,2}):(\d{1,2})(?:\.\d{1,9})?)?)?)?(?:\+00:00)?"
)
_YEAR = re.compile(r"-?\d{1,4}")
# Spans of time, the longest first, and the directives that tell one.
_SPANS = {"%Y": "year", "%m": "month", "%d": "day", "%j": "day", "%H": "hour", "%M": "minute", "%S": "second"}
_LENGTHS = tuple(dict.fromkeys(_SPANS.values()))


@dataclass(frozen=True, slots=True)
class PartitionTime:
    """How the time is read: `pattern` names partition fields, as in `$day $hour:00:00`, and is by default the first
    field; `formatter` has letters of Java's DateTimeFormatter.

    Without it a time is `yyyy-MM-dd HH:mm:ss` or `yyyy-MM-dd`, or as the transforms year, month and hour show theirs.
    """

    pattern: str | None = None
    formatter: str | None = None

    def of(self, values: Mapping[str, str | None]) -> datetime | None:
        """The time, without a zone, of a partition with these texts by field name; None if they tell none."""
        text = self._text(values)
        if text is None:
            return None
        try:
            if self.formatter is not None:
                return datetime.strptime(text, directives(self.formatter))
            return _by_default(text)
        except (ValueError, OverflowError):
            return None

    def until(self, values: Mapping[str, str | None], transforms: Mapping[str, Transform]) -> datetime | None:
        """The time up to which rows of the partition may be: the end of the year, month, day or hour that it has in
        fields which are derived from a column by other transforms than identity, and `of` if the values are the
        columns' own; None as `of`, and for a number that is no year of the transform, such as the id of a shop."""
        time, names = self.of(values), self.fields(values)
        if self.formatter is None and not any(isinstance(transforms[name], YearTransform) for name in names):
            time = None if _YEAR.fullmatch(self._text(values) or "") else time
        texts = (values[name] for name in names if not isinstance(transforms[name], IdentityTransform))
        spans = [self._span(text) for text in texts if text is not None]
        if time is None or not spans:
            return time
        try:
            return _after(time, max(spans, key=_LENGTHS.index))
        except (ValueError, OverflowError):
            return None

    def fields(self, known: Collection[str]) -> Sequence[str]:
        """Those of the `known` partition fields that tell the time."""
        if self.pattern is None:
            return list(known)[:1]
        return [part[1:] for part in self._parts(known) if part[:1] == "$" and part[1:] in known]

    def _text(self, values: Mapping[str, str | None]) -> str | None:
        if self.pattern is None:
            return next(iter(values.values()), None)
        found = [values[part[1:]] if part[:1] == "$" and part[1:] in values else part for part in self._parts(values)]
        return None if not found or None in found else "".join(part for part in found if part is not None)

    def _parts(self, known: Collection[str]) -> Sequence[str]:
        # Longer names first, as $day is no $da.
        names = sorted(known, key=len, reverse=True)
        alternatives = "|".join(re.escape(f"${name}") for name in names)
        return re.split(f"({alternatives})", self.pattern or "") if names else []

    def _span(self, text: str) -> str:
        """How long the time is that a field's text tells."""
        if _YEAR.fullmatch(text):
            return "year"
        found = _DEFAULT.fullmatch(text)
        if found is not None:
            return _LENGTHS[len([group for group in found.groups() if group]) - 1]
        told = directives(self.formatter or "")
        return next((_SPANS[one] for one in reversed(_SPANS) if one in told), "second")


def directives(formatter: str) -> str:
    """A format of Java's DateTimeFormatter as one of `strptime`. Raises ValueError for letters that have no like."""
    found = []
    for token in _TOKEN.finditer(formatter):
        text, quoted = token[0], token[1]
        if quoted is not None:
            found.append((quoted.replace("''", "'") or "'").replace("%", "%%"))
        elif token[2] is None:
            found.append(text.replace("%", "%%"))
        elif text in _LETTERS:
            found.append(_LETTERS[text])
        else:
            raise ValueError(f"{text} is not read. Use {', '.join(_LETTERS)} and text in quotes")
    return "".join(found)


def _by_default(text: str) -> datetime | None:
    if _YEAR.fullmatch(text):
        return datetime(int(text), 1, 1)
    found = _DEFAULT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(one) if one else None for one in found.groups())
    return datetime(year or 0, month or 0, day or 1, hour or 0, minute or 0, second or 0)


def _after(time: datetime, span: str) -> datetime:
    if span == "year":
        return time.replace(year=time.year + 1)
    if span == "month":
        return time.replace(year=time.year + time.month // 12, month=time.month % 12 + 1)
    return time + timedelta(**{f"{span}s": 1})
