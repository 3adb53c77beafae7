"""The description of a table from its metadata and manifests, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.command.doctor.care_plan import care
from sqlext.description.property_words import property_words
from sqlext.description.table_facts import (
    CareTask,
    Check,
    Column,
    Commit,
    Contents,
    Description,
    Reference,
    Setting,
    SizeClass,
)
from sqlext.errors import UnsupportedError
from sqlext.properties import KEY_ENFORCED
from sqlext.scan.filter.file_filter import partition_key
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.spec.constraint import check_constraints, generated_columns, is_constraint, varchar_lengths
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.iso_date_time import moment
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.transform import VoidTransform
from sqlext.spec.types import NestedField
from sqlext.sql.layout_terms import partition_term, sort_term
from sqlext.sql.literal import shown_default_text
from sqlext.sql.syntax.type_text import ddl_type_text

COMMITS = 20
"""So many snapshots are described, unless another number is asked for."""

_COMMENT = "comment"
_FIRST_CLASS_BYTES = 1024
_CLASS_RATIO = 4
_WHAT = {
    "append": "added rows",
    "delete": "deleted rows",
    "overwrite": "changed rows",
    "replace": "rewrote files, rows as they were",
}
# Who committed, by the summaries of sqlext, Iceberg's engines, PyIceberg and Flink's sink.
_APPLICATIONS = ("spark.app.name", "app-name", "spark.app.id", "app-id", "flink.job-id")


def describe_table(
    name: str, catalog: Catalog | None, table: LoadedTable, state: TableState, now_ms: int, commits: int = COMMITS
) -> Description:
    """The facts of a table at a state; its settings and columns are the current ones. `catalog` is None for a table in
    no catalog. Raises errors of reading, and UnsupportedError in a transaction."""
    metadata, schema = state.metadata, state.metadata.schema()
    settings = settings_of(metadata.properties)
    tasks = (CareTask(one.name, one.value, one.bytes, one.about) for one in care(catalog, table, state, now_ms))
    return Description(
        name=name,
        location=metadata.location,
        metadata_location=state.location,
        uuid=metadata.table_uuid,
        format_version=metadata.format_version,
        snapshot_id=None if state.snapshot is None else state.snapshot.snapshot_id,
        updated_at=moment(metadata.last_updated_ms),
        comment=settings.get(_COMMENT),
        columns=tuple(_columns(metadata, schema)),
        key=tuple(schema.column_name(id) for id in schema.identifier_field_ids),
        key_is_enforced=KEY_ENFORCED.of(metadata.properties),
        checks=tuple(Check(one.name, one.expression) for one in check_constraints(metadata.properties)),
        partitioned_by=tuple(partitioning(metadata)),
        ordered_by=tuple(ordering(metadata)),
        settings=tuple(
            Setting(key, text, property_words(key, settings)) for key, text in shown_settings(metadata).items()
        ),
        references=tuple(Reference(key, one.type, one.snapshot_id) for key, one in sorted(metadata.refs.items())),
        commits=history(metadata, commits),
        commit_count=len(metadata.snapshots),
        contents=contents(state),
        care=tuple(tasks),
    )


def shown_settings(metadata: TableMetadata) -> Mapping[str, str]:
    """The table's properties by name, without those that are told otherwise: constraints, the comment and the state of
    streams."""
    settings = settings_of(metadata.properties)
    return {key: text for key, text in sorted(settings.items()) if not is_constraint(key) and key != _COMMENT}


def history(metadata: TableMetadata, most: int | None = None) -> tuple[Commit, ...]:
    """The newest snapshots, at most `most`, newest first."""
    on_main = {one.snapshot_id for one in ancestors(metadata, metadata.current_snapshot())}
    named: dict[int, list[str]] = {}
    for name, one in sorted(metadata.refs.items()):
        named.setdefault(one.snapshot_id, []).append(name)
    newest = sorted(metadata.snapshots, key=lambda one: (one.timestamp_ms, one.sequence_number), reverse=True)
    return tuple(_commit(one, on_main, named.get(one.snapshot_id, ())) for one in newest[:most])


def contents(state: TableState) -> Contents:
    """What the state's snapshot consists of. Raises errors of reading."""
    if state.snapshot is None:
        return Contents()
    listed = state.manifests.manifests(state.io, state.snapshot)
    files = [entry.file for entry in state.manifests.live_entries_of(state.io, listed, state.metadata)]
    data = [file for file in files if file.content == Content.DATA]
    by_position = [file for file in files if file.content == Content.POSITION_DELETES]
    by_key = [file for file in files if file.content == Content.EQUALITY_DELETES]
    return Contents(
        data_files=len(data),
        bytes=sum(file.file_size_in_bytes for file in data),
        stored_rows=sum(file.record_count for file in data),
        dead_rows=sum(file.record_count for file in by_position),
        dead_is_bound=not all(file.is_deletion_vector for file in by_position),
        deleted_keys=sum(file.record_count for file in by_key),
        delete_files=len(files) - len(data),
        partitions=len({partition_key(file) for file in data}),
        manifests=len(listed),
        sizes=tuple(_size_classes(data)),
    )


def _columns(metadata: TableMetadata, schema: Schema) -> Iterator[Column]:
    lengths, key = varchar_lengths(metadata.properties), set(schema.identifier_field_ids)
    generated = {id: f"GENERATED ALWAYS AS ({text})" for id, text in generated_columns(metadata.properties).items()}
    generated |= {id: one.clause() for id, one in identity_columns(metadata.properties).items()}
    for field in schema.fields:
        yield Column(
            name=field.name,
            type=_type(field, lengths),
            in_key=field.id in key,
            required=field.required,
            default=_filled_in(field, generated.get(field.id)),
            comment=field.doc,
        )


def _filled_in(field: NestedField, generated: str | None) -> str | None:
    """What a writer gives to a column that is left out."""
    if generated is not None:
        return generated
    return None if field.write_default is None else shown_default_text(field)


def _type(field: NestedField, lengths: Mapping[int, int]) -> str:
    try:
        return ddl_type_text(field.type, field.id, lengths)
    except UnsupportedError:
        # Of another engine: Spark has no name for it.
        return str(field.type)


def partitioning(metadata: TableMetadata) -> Iterator[str]:
    """The terms by which the table is partitioned, as DDL has them."""
    schema = metadata.schema()
    for field in metadata.spec().fields:
        if isinstance(field.transform, VoidTransform):
            continue
        try:
            yield partition_term(schema, field)
        except UnsupportedError:
            yield f"{field.transform}({schema.column_name(field.source_id)})"


def ordering(metadata: TableMetadata) -> Iterator[str]:
    """The terms of the table's sort order, as DDL has them."""
    schema = metadata.schema()
    for field in metadata.sort_order().fields:
        try:
            yield sort_term(schema, field)
        except UnsupportedError:
            yield f"{field.transform}({schema.column_name(field.source_id)}) {field.direction}"


def _commit(snapshot: Snapshot, on_main: Collection[int], names: Sequence[str]) -> Commit:
    summary = snapshot.summary
    return Commit(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_snapshot_id,
        committed_at=moment(snapshot.timestamp_ms),
        operation=snapshot.operation,
        what=_what(snapshot),
        by=committer(summary),
        rows_in=_rows_in(summary),
        rows_out=_rows_out(summary),
        keys_out=_number(summary, "added-equality-deletes"),
        files_in=_number(summary, "added-data-files") + _number(summary, "added-delete-files"),
        files_out=_number(summary, "deleted-data-files") + _number(summary, "removed-delete-files"),
        rows=_number(summary, "total-records") if "total-records" in summary else None,
        is_ancestor=snapshot.snapshot_id in on_main,
        references=tuple(names),
    )


def _what(snapshot: Snapshot) -> str:
    summary = snapshot.summary
    if "sqlext.undone-snapshot-id" in summary:
        return f"undid {summary['sqlext.undone-snapshot-id']}"
    told = _WHAT.get(snapshot.operation or "", snapshot.operation or "not told")
    if snapshot.operation == "overwrite" and not _rows_in(summary):
        told = "deleted rows"
    staged = summary.get("wap.id")
    return told if staged is None else f"{told}, staged as {staged}"


def committer(summary: Mapping[str, str]) -> str:
    """The engine and the application that committed a snapshot of this summary, as far as it tells."""
    engine = " ".join(filter(None, (summary.get("engine-name", ""), summary.get("engine-version", ""))))
    application = next((summary[key] for key in _APPLICATIONS if key in summary), "")
    if not engine and "iceberg-version" in summary:
        engine = summary["iceberg-version"]
    return f"{engine} ({application})" if engine and application else engine or application


def _rows_in(summary: Mapping[str, str]) -> int | None:
    return _number(summary, "added-records") if _tells(summary) else None


def _rows_out(summary: Mapping[str, str]) -> int | None:
    if not _tells(summary):
        return None
    marked = _number(summary, "added-position-deletes") - _number(summary, "removed-position-deletes")
    return max(0, _number(summary, "deleted-records") + marked)


def _tells(summary: Mapping[str, str]) -> bool:
    """Whether the summary has counts: zeros are left out, so that one of any kind is enough."""
    return any(
        key.startswith(("added-", "deleted-", "removed-", "total-", "changed-partition-count")) for key in summary
    )


def _number(summary: Mapping[str, str], key: str) -> int:
    text = summary.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _size_classes(files: Sequence[ContentFile]) -> Iterator[SizeClass]:
    """Classes from that of the smallest file to that of the largest, each four times as wide as the one before."""
    if not files:
        return
    sizes = [file.file_size_in_bytes for file in files]
    least, below = 0, _FIRST_CLASS_BYTES
    while below <= min(sizes):
        least, below = below, below * _CLASS_RATIO
    while least <= max(sizes):
        found = [size for size in sizes if least <= size < below]
        yield SizeClass(least, below, len(found), sum(found))
        least, below = below, below * _CLASS_RATIO
