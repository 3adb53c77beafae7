"""The session's settings for planning: thresholds, and forced ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from sqlext.command.plan.change_plan import Way, Writer
from sqlext.errors import AnalysisError
from sqlext.spec.name_suggestion import suggestion
from sqlext.thresholds import ALL_ROWS, PREFIX, Thresholds, setting

FORCE = f"{PREFIX}force"
ON_DRIVER, IN_TASKS = "driver", "tasks"
SOURCE_BY_QUERY = "source-by-query"
FORCED_WAYS: Mapping[str, Way] = {
    way.value: way
    for way in (
        Way.EQUALITY,
        Way.LOOK_UP,
        Way.COPY_ON_WRITE,
        Way.COPY_BY_QUERY,
        Way.AUTO,
        Way.COMPLETED_BY_TASKS,
        Way.MERGE_ON_READ,
    )
}


@dataclass(frozen=True, slots=True)
class Planning:
    """`forced_ways` are preferred by statements that admit them. `forced_writer` is `ON_DRIVER`, for all rows that fit
    into it, or `IN_TASKS`, for all rows, including literals. With `source_by_query` Spark reads the source of every
    INSERT. `tasks` is the most tasks of a write, if its options limit them."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    forced_ways: frozenset[Way] = frozenset()
    forced_writer: str | None = None
    source_by_query: bool = False
    tasks: int | None = None

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Planning:
        """Parses the session settings that begin with `PREFIX`. Raises AnalysisError SETTING_UNKNOWN and
        SETTING_INVALID."""
        known = {FORCE, *(setting(one.name) for one in fields(Thresholds))}
        for name in settings:
            if name not in known:
                way_out = suggestion(name, known, f"There are {', '.join(sorted(known))}.")
                raise AnalysisError("SETTING_UNKNOWN", name=name, way_out=way_out)
        ways, writer, source_by_query = set(), None, False
        text = settings.get(FORCE, "")
        for name in filter(None, (part.strip().lower() for part in text.split(","))):
            if name in (ON_DRIVER, IN_TASKS) and writer in (None, name):
                writer = name
            elif name == SOURCE_BY_QUERY:
                source_by_query = True
            elif name in FORCED_WAYS:
                ways.add(FORCED_WAYS[name])
            else:
                names = ", ".join([*FORCED_WAYS, SOURCE_BY_QUERY, f"{ON_DRIVER} or {IN_TASKS}"])
                allowed = f"a list, separated by commas, of {names}"
                raise AnalysisError("SETTING_INVALID", name=FORCE, value=text, allowed=allowed)
        return cls(Thresholds.of(settings), frozenset(ways), writer, source_by_query)

    @property
    def in_tasks(self) -> bool:
        """Whether the driver may not write rows."""
        return self.forced_writer == IN_TASKS

    def writer(self, tried_rows: int = 0, completed_rows: int = 0) -> Writer:
        """The writer of a result of which the driver tries up to `tried_rows` rows, or `completed_rows` with kept
        columns left out."""
        if self.in_tasks:
            return Writer(0, tasks=self.tasks)
        tried = ALL_ROWS if self.forced_writer == ON_DRIVER else tried_rows
        return Writer(self.thresholds.driver_bytes, tried, completed_rows=completed_rows, tasks=self.tasks)
