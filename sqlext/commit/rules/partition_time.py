"""The time of a partition, by its values (Paimon: `partition.timestamp-pattern`, `partition.timestamp-formatter`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

# Letters of Java's DateTimeFormatter, by number where that matters.
_LETTERS = {"yyyy": "%Y", "uuuu": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "DDD": "%j"}
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_DEFAULT = re.compile(
    r"(\d{1,10})-(\d{1,2})(?:-(\d{1,2})(?:[ T-](\d{1,2})(?::(\d{1,2}):(\d{1,2})(?:\.\d{1,9})?)?)?)?(?:\+00:00)?"
)
_YEAR = re.compile(r"-?\d{1,4}")


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

    def _text(self, values: Mapping[str, str | None]) -> str | None:
        if self.pattern is None:
            return next(iter(values.values()), None)
        # Longer names first, as $day is no $da.
        names = sorted(values, key=len, reverse=True)
        parts = re.split("(" + "|".join(re.escape(f"${name}") for name in names) + ")", self.pattern) if names else []
        found = [values[part[1:]] if part[:1] == "$" and part[1:] in values else part for part in parts]
        return None if not found or None in found else "".join(part for part in found if part is not None)


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
