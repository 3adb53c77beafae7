"""Runs a golden input file against a session and renders what each statement gave.

An input holds statements that end in `;` at a line's end; comment lines before one are its title. It runs in its own
fresh namespace `lake.<area>`, which is current. `${snapshot:<table>:<n>}` and `${timestamp:<table>:<n>}` stand for the
id and the commit time of a table's n-th snapshot, `${folder}` for the namespace's folder. Whatever differs between two
runs (ids, paths, times, sizes) is rendered as a name in angle brackets.
"""

from __future__ import annotations

import datetime
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from lowered_log import lowered_statements
from sessions import compiled
from sqlext.spark.shim.shim_jar import installed_spark
from sqlext.spark.shim.supported_spark import MINORS

_PRINT_PLANS = ("explain", "explain_files", "pushdown")
"""Areas with plans in their results, which mark what Spark compiles."""
INPUTS = Path(__file__).parent / "inputs"
RESULTS = Path(__file__).parent / "results"

DEFAULT_SPARK = "4.1"
"""The Spark whose results are recorded for all others too, unless they differ."""

ORDERED = re.compile(r"^\s*(DESC|DESCRIBE|SHOW CREATE)\b|\bORDER\s+BY\b[^()]*$", re.IGNORECASE)
FOLDER = "${folder}"
PLACEHOLDER = re.compile(r"\$\{(snapshot|timestamp):(\w+):(\d+)\}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# data in the inputs ends in 2024 or lies far in the future; anything between is the clock
# Of a data file's name; how many tasks the session had run by then depends on the areas before.
TASK = re.compile(r"(?<=\b\d{5}-)[1-9]\d*(?=-<uuid>)")
# A pin of a snapshot in lowered SQL.
PIN = re.compile(r"(?<=@/)\d+(?=/)")
CLOCK = re.compile(r"\b20(2[5-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?")
PLAN_LINE = re.compile(r"\s*$|== SQL|[ :]*[+'-]|\s*\S+Table |JVM stacktrace|\s+at ")
SIZE_NAMES = re.compile(r"(^|[-_])(size|sizes|length|size_in_bytes)$|files-size$|column_size$|^split_offsets$")
PLAN_IDS = re.compile(r"(?<=[\w)*])#\d+L?|, \[plan_id=\d+\]")
# of what the driver tries to take: it follows from the sizes of files
TRIED_ROWS = re.compile(r"(?<=s at most )[\d,]+(?= rows)")
# of the files in a plan
FILE_SIZES = re.compile(r"(?<=\()[\d,]+(?= bytes)")
# of a snapshot's author
ENGINE_VERSION = re.compile(r"(?<=^engine-version = )\S+")
# Spark tells where it looked from 4.2 on
SEARCH_PATH = re.compile(r" Search path: \[[^\]]*\]\.")
VERSION_NAMES = frozenset({"engine-version", "sqlext-version", "iceberg-version", "spark.app.id"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an input file with the comment lines above it."""

    title: tuple[str, ...]
    text: str


def split_statements(text: str) -> list[Statement]:
    """Statements of an input file in order; a `;` counts at the end of a line only."""
    statements: list[Statement] = []
    title: list[str] = []
    lines: list[str] = []
    for line in text.splitlines():
        if not lines and (not line.strip() or line.lstrip().startswith("--")):
            if line.strip():
                title.append(line.strip().removeprefix("--").strip())
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            statements.append(Statement(tuple(title), "\n".join(lines).rstrip().removesuffix(";")))
            title, lines = [], []
    if lines:
        raise ValueError(f"the last statement does not end in ';': {lines[0]}")
    return statements


def area_names() -> list[str]:
    return sorted(path.stem for path in INPUTS.glob("*.sql"))


def run_area(spark: SparkSession, warehouse: Path, area: str, catalog: str = "lake") -> str:
    """Runs one input file in its own namespace and gives the text that its result file should hold.

    In another catalog than `lake`, whose folder `warehouse` is, the input names that one wherever it names `lake`.
    """
    views_before = {row.viewName for row in spark.sql("SHOW VIEWS IN spark_catalog.default").collect()}
    previous = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql(f"CREATE NAMESPACE {catalog}.{area}")
    spark.sql(f"USE {catalog}.{area}")
    names = RunNames(warehouse)
    try:
        text = re.sub(r"\blake\b", catalog, (INPUTS / f"{area}.sql").read_text())
        statements = split_statements(text)
        with compiled(spark) if area in _PRINT_PLANS else nullcontext():
            results = [run_statement(spark, warehouse / area, statement, names) for statement in statements]
        return "\n\n".join(results) + "\n"
    finally:
        spark.catalog.setCurrentCatalog(previous[0])
        spark.catalog.setCurrentDatabase(previous[1])
        for row in spark.sql("SHOW VIEWS IN spark_catalog.default").collect():
            if row.viewName not in views_before:
                spark.catalog.dropTempView(row.viewName)


def result_path(area: str) -> Path:
    """The result file of an area: that of this Spark, else of the one before it, down to the default one.

    An older Spark than the default one has files of its own for what differs from it.
    """
    minor = installed_spark().minor
    between = MINORS[MINORS.index(DEFAULT_SPARK) + 1 : MINORS.index(minor) + 1] or [minor]
    of_sparks = [RESULTS / f"spark-{one}" / f"{area}.out" for one in reversed(between)]
    return next((path for path in of_sparks if path.exists()), RESULTS / f"{area}.out")


def record(spark: SparkSession, warehouse: Path, area: str) -> None:
    """Writes what an area gives to the result file of this Spark, unless the one that it would go by has the same."""
    given, minor = run_area(spark, warehouse, area), installed_spark().minor
    own = RESULTS / f"{area}.out" if minor == DEFAULT_SPARK else RESULTS / f"spark-{minor}" / f"{area}.out"
    if minor != DEFAULT_SPARK:
        own.unlink(missing_ok=True)
        if given == result_path(area).read_text():
            return
    own.parent.mkdir(exist_ok=True)
    own.write_text(given)


def recorded_rows(area: str) -> Iterator[tuple[Statement, list[Any] | None]]:
    """The statements of an area with the rows that its result file has, None where that has an error."""
    return rows_in(result_path(area).read_text(), area)


def rows_in(text: str, area: str, catalog: str = "lake") -> Iterator[tuple[Statement, list[Any] | None]]:
    """The statements of an area with the rows in a text that `run_area` gave, None where that has an error."""
    statements = split_statements(re.sub(r"\blake\b", catalog, (INPUTS / f"{area}.sql").read_text()))
    for statement, after in itertools.zip_longest(statements, statements[1:]):
        end = len(text) if after is None else text.index("\n\n" + _heading(after))
        lines = text[len(_heading(statement)) : end].strip("\n").split("\n")
        text = text[end + 2 :]
        rows = [json.loads(line) for line in _section(lines, "-- rows")]
        yield statement, None if "-- error" in lines else rows


def _heading(statement: Statement) -> str:
    return "\n".join([*(f"-- {line}" for line in statement.title), statement.text + ";"])


def _section(lines: list[str], name: str) -> list[str]:
    following = lines[lines.index(name) + 1 :] if name in lines else []
    return list(itertools.takewhile(lambda line: not line.startswith("-- "), following))


def run_statement(spark: SparkSession, namespace: Path, statement: Statement, names: RunNames) -> str:
    """Runs a statement and renders text, schema and rows or error, lowered SQL, and the snapshots that it made."""
    parts = [_heading(statement)]
    known = {snapshot_id for snapshot_id, _ in _snapshots(namespace)}
    with lowered_statements() as lowered:
        parts += _answer(spark, namespace, statement, names)
    names.learn(snapshot_id for snapshot_id, _ in _snapshots(namespace))
    for text in lowered:
        parts += ["-- lowered", names.text(text)]
    for snapshot_id, summary in _snapshots(namespace):
        if snapshot_id not in known:
            parts += ["-- summary", _render(names.value("summary", summary))]
    return "\n".join(parts)


def _answer(spark: SparkSession, namespace: Path, statement: Statement, names: RunNames) -> list[str]:
    """Schema and rows, or the error."""
    try:
        text = PLACEHOLDER.sub(lambda match: _resolve(namespace, match), statement.text)
        text = text.replace(FOLDER, str(namespace))
        frame = spark.sql(text)
        rows = canonical_rows(frame, ordered=bool(ORDERED.search(text)))
        if frame.columns:
            schema = _schema(frame.schema.simpleString())
            return ["-- schema", schema, "-- rows", *(_render(names.row(frame.columns, row)) for row in rows)]
    except Exception as error:
        return ["-- error", names.text(render_error(error))]
    return []


def render_error(error: Exception) -> str:
    """Condition and message, without a query plan or a quotation of the statement; an untyped error shows its type."""
    lines = itertools.takewhile(lambda line: not PLAN_LINE.match(line), str(error).strip().split("\n"))
    message = " ".join(line.strip() for line in lines)
    return message if message.startswith("[") else f"{type(error).__module__}.{type(error).__name__}: {message}"


@dataclass(slots=True)
class RunNames:
    """Gives what differs from run to run a stable name; a snapshot id keeps its number within the area."""

    warehouse: Path
    snapshot_ids: dict[str, str] = field(default_factory=dict)

    def row(self, columns: list[str], values: list[Any]) -> list[Any]:
        return [self.value(column, value) for column, value in zip(columns, values, strict=True)]

    def value(self, name: str, value: Any) -> Any:
        """`value` of the column, struct field or map key `name`, with stable names in it."""
        if value is None:
            return None
        if SIZE_NAMES.search(name):
            return "<size>"
        if name == "timestamp" and isinstance(value, int):
            return "<time>"
        if name == "plan":
            return self.text(FILE_SIZES.sub("<size>", TRIED_ROWS.sub("<count>", PLAN_IDS.sub("", str(value)))))
        if name in VERSION_NAMES:
            return "<version>"
        if isinstance(value, dict) and "__map__" in value:
            return {"__map__": [[key, self.value(str(key), item)] for key, item in value["__map__"]]}
        if isinstance(value, Mapping):
            return {key: self.value(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(name, item) for item in value]
        if name.endswith(("snapshot_id", "snapshot-id", "parent_id", "_ref")):
            return self._snapshot(str(value))
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        text = text.replace(f"file://{self.warehouse}", "<warehouse>").replace(str(self.warehouse), "<warehouse>")
        text = ENGINE_VERSION.sub("<version>", text)
        text = TASK.sub("<task>", SEARCH_PATH.sub("", CLOCK.sub("<time>", UUID.sub("<uuid>", text))))
        for snapshot_id, name in self.snapshot_ids.items():
            text = text.replace(snapshot_id, name)
        text = PIN.sub("<id>", text)
        return text

    def learn(self, snapshot_ids: Iterable[int]) -> None:
        """Numbers the ids that are new, in the order given."""
        for snapshot_id in snapshot_ids:
            self._snapshot(str(snapshot_id))

    def _snapshot(self, snapshot_id: str) -> str:
        return self.snapshot_ids.setdefault(snapshot_id, f"<snapshot-{len(self.snapshot_ids) + 1}>")


def _schema(text: str) -> str:
    return text.removeprefix("struct<").removesuffix(">")


def _render(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _tables(namespace: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and current metadata of each table folder, read with no help from the code under test."""
    for folder in sorted(namespace.glob("*/metadata")):
        versions = {int(file.name.split(".")[0][1:]): file for file in folder.glob("v*.metadata.json")}
        if versions:
            yield folder.parent.name, json.loads(versions[max(versions)].read_text())


def _snapshots(namespace: Path) -> list[tuple[int, dict[str, str]]]:
    return [
        (snapshot["snapshot-id"], snapshot["summary"])
        for _, metadata in _tables(namespace)
        for snapshot in metadata.get("snapshots", [])
    ]


def _resolve(namespace: Path, match: re.Match[str]) -> str:
    kind, table, position = match.groups()
    snapshots = dict(_tables(namespace))[table]["snapshots"]
    snapshot = sorted(snapshots, key=lambda item: (item["sequence-number"], item["timestamp-ms"]))[int(position) - 1]
    if kind == "snapshot":
        return str(snapshot["snapshot-id"])
    moment = datetime.datetime.fromtimestamp(snapshot["timestamp-ms"] / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")
