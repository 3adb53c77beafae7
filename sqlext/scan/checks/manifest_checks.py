"""Checks of a manifest against its entry in manifest lists, and of its entries by themselves (spec: Manifests)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.spec import single_value
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionField
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType, Type

_KINDS = ("added", "existing", "deleted")
_OF_STATUS = {"added": EntryStatus.ADDED, "existing": EntryStatus.EXISTING, "deleted": EntryStatus.DELETED}


@dataclass(frozen=True, slots=True)
class ManifestHeader:
    """What the header of a manifest's file says; None for what it does not say."""

    spec_id: int | None
    content: ManifestContent | None

    @classmethod
    def of(cls, header: Mapping[str, bytes]) -> ManifestHeader:
        """Raises ValueError."""
        spec_id, content = header.get("partition-spec-id"), header.get("content")
        kinds = {b"data": ManifestContent.DATA, b"deletes": ManifestContent.DELETES, None: None}
        if content not in kinds:
            raise ValueError(f"its content is {content!r}")
        return cls(None if spec_id is None else int(spec_id), kinds[content])


def list_entry_findings(
    manifest: ManifestFile,
    size: int,
    header: ManifestHeader,
    entries: Sequence[ManifestEntry],
    metadata: TableMetadata,
) -> Iterator[Finding]:
    """What the entry `manifest` of a manifest list says wrongly of a manifest of `size` bytes."""
    path = manifest.path
    if manifest.length != size:
        yield Finding(Check.SIZE, path, f"{size} bytes", f"{manifest.length}, as the manifest list has it")
    if header.spec_id is not None and header.spec_id != manifest.spec_id:
        found, expected = f"partition spec {header.spec_id}", f"{manifest.spec_id}, as the manifest list has it"
        yield Finding(Check.PARTITION_SPEC, path, found, expected)
    if header.content is not None and header.content != manifest.content:
        found = f"a manifest of {header.content.name.lower()}"
        yield Finding(Check.REFERENCE, path, found, f"{manifest.content.name.lower()}, as the manifest list has it")
    yield from _counts(manifest, entries)
    yield from _sequence_numbers(manifest, entries)
    yield from _summaries(manifest, entries, metadata)


def entry_findings(
    manifest: ManifestFile, entries: Iterable[ManifestEntry], metadata: TableMetadata
) -> Iterator[Finding]:
    """What is wrong in the entries of a manifest by themselves."""
    for entry in entries:
        yield from _entry_findings(manifest, entry, metadata)


def _counts(manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> Iterator[Finding]:
    for kind in _KINDS:
        of_kind = [entry.file.record_count for entry in entries if entry.status == _OF_STATUS[kind]]
        for what, count in (("files", len(of_kind)), ("rows", sum(of_kind))):
            told = getattr(manifest, f"{kind}_{what}_count")
            if told is not None and told != count:
                found = f"{kind}_{what}_count {told} in the manifest list"
                yield Finding(Check.COUNT, manifest.path, found, str(count))


def _sequence_numbers(manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> Iterator[Finding]:
    live = [entry.sequence_number for entry in entries if entry.is_live and entry.sequence_number is not None]
    if live and min(live) < manifest.min_sequence_number:
        found, expected = f"min_sequence_number {manifest.min_sequence_number}", f"at most {min(live)}"
        yield Finding(Check.SEQUENCE_NUMBER, manifest.path, found, expected)
    if live and max(live) > manifest.sequence_number:
        found = f"an entry of sequence number {max(live)}"
        yield Finding(
            Check.SEQUENCE_NUMBER, manifest.path, found, f"at most {manifest.sequence_number}, the manifest's"
        )


def _summaries(manifest: ManifestFile, entries: Sequence[ManifestEntry], metadata: TableMetadata) -> Iterator[Finding]:
    """Live files that a scan would pass over, since the summaries in the manifest list exclude their partitions."""
    spec = metadata.specs_by_id()[manifest.spec_id]
    if not manifest.partitions:
        return
    fields = spec.partition_type(metadata.schema(), metadata.schemas[::-1]).fields
    if len(manifest.partitions) != len(fields):
        found = f"{len(manifest.partitions)} partition summaries"
        yield Finding(Check.PARTITION_VALUE, manifest.path, found, str(len(fields)))
        return
    for place, (field, summary) in enumerate(zip(fields, manifest.partitions, strict=True)):
        values = [entry.file.partition[place] for entry in entries if entry.is_live]
        if None in values and not summary.contains_null:
            found = f"the summary of {field.name} has no null"
            yield Finding(Check.PARTITION_VALUE, manifest.path, found, "a null, as a file has it")
        present = [value for value in values if value is not None and value == value]
        try:
            excluded = present and excluded_value(field.type, present, summary.lower_bound, summary.upper_bound)
        except ValueError as error:
            excluded = str(error)
        if excluded:
            found = f"the summary of {field.name} excludes {excluded}"
            yield Finding(Check.BOUND, manifest.path, found, "bounds around the partitions of all files")


def excluded_value(type: Type, values: Iterable[Any], lower: bytes | None, upper: bytes | None) -> str:
    """A value outside of the bounds, as text; empty if there is none."""
    least = None if lower is None else single_value.decode(type, lower)
    most = None if upper is None else single_value.decode(type, upper)
    for value in values:
        if (least is not None and value < least) or (most is not None and value > most):
            return repr(value)
    return ""


def _entry_findings(manifest: ManifestFile, entry: ManifestEntry, metadata: TableMetadata) -> Iterator[Finding]:
    file = entry.file
    is_data = file.content == Content.DATA
    if is_data != (manifest.content == ManifestContent.DATA):
        found = f"{file.content.name.lower()} of {file.file_path}"
        yield Finding(Check.REFERENCE, manifest.path, found, f"files of {manifest.content.name.lower()}")
    if file.record_count < 0 or file.file_size_in_bytes < 0:
        found = f"{file.record_count} rows in {file.file_size_in_bytes} bytes of {file.file_path}"
        yield Finding(Check.COUNT, manifest.path, found, "no negative number")
    if entry.is_live:
        for check, found, expected in (*_partition_faults(file, metadata), *_metric_faults(file, metadata)):
            yield Finding(check, manifest.path, f"{found}, in the entry of {file.file_path}", expected)


_Fault = tuple[Check, str, str]


def _partition_faults(file: ContentFile, metadata: TableMetadata) -> Iterator[_Fault]:
    spec = metadata.specs_by_id()[file.spec_id]
    schemas = (metadata.schema(), *metadata.schemas[::-1])
    types = spec.partition_type(schemas[0], schemas[1:]).fields
    for field, typed, value in zip(spec.fields, types, file.partition, strict=True):
        if value is None or str(field.transform) == "void":
            continue
        try:
            single_value.encode(typed.type, value)
        except ValueError as error:
            yield Check.PARTITION_VALUE, f"{field.name} is {value!r}", f"a value of type {typed.type} ({error})"
            continue
        if file.content == Content.DATA:
            yield from _against_bounds(field, value, file, schemas)


def _against_bounds(
    field: PartitionField, value: Any, file: ContentFile, schemas: Sequence[Schema]
) -> Iterator[_Fault]:
    """Whether rows of the file can be in its partition, by the bounds of the source column."""
    source = next((one.field(field.source_id) for one in schemas if field.source_id in one.field_ids), None)
    if source is None or not field.transform.preserves_order:
        return
    lower, upper = ((bounds or {}).get(field.source_id) for bounds in (file.lower_bounds, file.upper_bounds))
    try:
        least = None if lower is None else single_value.decode(source.type, lower)
        most = None if upper is None else single_value.decode(source.type, upper)
        first, last = (None if one is None else field.transform.apply(source.type, one) for one in (least, most))
    except (ValueError, OverflowError, ArithmeticError):
        # The bounds are checked as such.
        return
    if (first is not None and value < first) or (last is not None and value > last):
        yield (
            Check.PARTITION_VALUE,
            f"{field.name} is {value!r}",
            f"between {first!r} and {last!r}, by the file's bounds",
        )


def _metric_faults(file: ContentFile, metadata: TableMetadata) -> Iterator[_Fault]:
    columns = {id: schema for schema in metadata.schemas for id in schema.field_ids}
    for counts, name in ((file.null_value_counts, "nulls"), (file.nan_value_counts, "NaN")):
        for id, count in (counts or {}).items():
            most = (file.value_counts or {}).get(id)
            if count < 0 or (most is not None and 0 <= most < count):
                yield Check.COUNT, f"{count} {name} of column {id}", f"between 0 and {most}, its values"
    for id, lower in (file.lower_bounds or {}).items():
        if id in columns and (upper := (file.upper_bounds or {}).get(id)) is not None:
            type = columns[id].field(id).type
            try:
                least, most_value = single_value.decode(type, lower), single_value.decode(type, upper)
            except ValueError as error:
                yield Check.BOUND, f"bounds of column {id}: {error}", f"values of type {type}"
                continue
            is_nan = isinstance(type, FloatType | DoubleType) and (least != least or most_value != most_value)
            if not is_nan and least > most_value:
                yield Check.BOUND, f"column {id} from {least!r} to {most_value!r}", "a lower bound below the upper one"


def duplicate_findings(live: Iterable[tuple[str, ManifestEntry]], snapshot_id: int, path: str) -> Iterator[Finding]:
    """Data files that a snapshot, with the manifest list `path`, has more than once; `live` are its live entries, each
    with its manifest."""
    seen: dict[Any, str] = {}
    for manifest, entry in live:
        if entry.file.key in seen:
            found = f"{entry.file.file_path} is live in {seen[entry.file.key]} and in {manifest}"
            yield Finding(Check.DUPLICATE, path, found, "each file once", Severity.ERROR, snapshot_id)
        seen[entry.file.key] = manifest


def row_id_findings(live: Iterable[tuple[str, ManifestEntry]], snapshot_id: int, next_row_id: int) -> Iterator[Finding]:
    """Row ids that two data files of a snapshot have, or that are not given yet (spec: Row Lineage)."""
    ranges = sorted(
        (entry.file.first_row_id, entry.file.record_count, manifest, entry.file.file_path)
        for manifest, entry in live
        if entry.file.content == Content.DATA and entry.file.first_row_id is not None
    )
    end, before = 0, ""
    for first, count, manifest, path in ranges:
        if first < end and count:
            found, expected = f"{path} has row ids from {first}", f"from {end}, after those of {before}"
            yield Finding(Check.ROW_ID, manifest, found, expected, Severity.ERROR, snapshot_id)
        if first + count > next_row_id:
            found = f"{path} has row ids up to {first + count - 1}"
            yield Finding(Check.ROW_ID, manifest, found, f"below {next_row_id}", Severity.ERROR, snapshot_id)
        end, before = max(end, first + count), path
