"""The struct types of manifest entries and manifest list entries (spec: Manifests; Manifest Lists)."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    Type,
)

_INT, _LONG, _STRING, _BINARY, _BOOLEAN = IntegerType(), LongType(), StringType(), BinaryType(), BooleanType()


def _required(id: int, name: str, type: Type, doc: str | None = None) -> NestedField:
    return NestedField(id, name, type, True, doc)


def _optional(id: int, name: str, type: Type, doc: str | None = None) -> NestedField:
    return NestedField(id, name, type, False, doc)


def _by_column(key_id: int, value_id: int, value: Type) -> MapType:
    return MapType(key_id, _INT, value_id, value, True)


_CONTENT = _required(134, "content", _INT, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes")
_LOCATION = (
    _required(100, "file_path", _STRING, "Location URI with FS scheme"),
    _required(101, "file_format", _STRING, "File format name: avro, orc, or parquet"),
)
_SIZE = (
    _required(103, "record_count", _LONG, "Number of records in the file"),
    _required(104, "file_size_in_bytes", _LONG, "Total file size in bytes"),
)
_BLOCK_SIZE = _required(105, "block_size_in_bytes", _LONG)
_METRICS = (
    _optional(108, "column_sizes", _by_column(117, 118, _LONG), "Map of column id to total size on disk"),
    _optional(
        109, "value_counts", _by_column(119, 120, _LONG), "Map of column id to total count, including null and NaN"
    ),
    _optional(110, "null_value_counts", _by_column(121, 122, _LONG), "Map of column id to null value count"),
    _optional(
        137, "nan_value_counts", _by_column(138, 139, _LONG), "Map of column id to number of NaN values in the column"
    ),
    _optional(125, "lower_bounds", _by_column(126, 127, _BINARY), "Map of column id to lower bound"),
    _optional(128, "upper_bounds", _by_column(129, 130, _BINARY), "Map of column id to upper bound"),
    _optional(131, "key_metadata", _BINARY, "Encryption key metadata blob"),
    _optional(132, "split_offsets", ListType(133, _LONG, True), "Splittable offsets"),
)
_EQUALITY_IDS = _optional(135, "equality_ids", ListType(136, _INT, True), "Equality comparison field IDs")
_SORT_ORDER_ID = _optional(140, "sort_order_id", _INT, "Sort order ID")
_FIRST_ROW_ID = _optional(142, "first_row_id", _LONG, "The first row ID assigned to the first row in the data file")
_REFERENCED_DATA_FILE = _optional(
    143,
    "referenced_data_file",
    _STRING,
    "Fully qualified location (URI with FS scheme) of a data file that all deletes reference",
)
_DELETION_VECTOR = (
    _optional(144, "content_offset", _LONG, "The offset in the file where the content starts"),
    _optional(145, "content_size_in_bytes", _LONG, "The length of referenced content stored in the file"),
)


def entry_type(format_version: int, partition_type: StructType) -> StructType:
    """The type of a manifest entry with partition tuples of `partition_type`."""
    data_file = _required(2, "data_file", StructType(tuple(_data_file_fields(format_version, partition_type))))
    status, snapshot_id = _required(0, "status", _INT), _optional(1, "snapshot_id", _LONG)
    if format_version == 1:
        return StructType((status, snapshot_id, data_file))
    sequence_numbers = (_optional(3, "sequence_number", _LONG), _optional(4, "file_sequence_number", _LONG))
    return StructType((status, snapshot_id, *sequence_numbers, data_file))


def _data_file_fields(format_version: int, partition_type: StructType) -> Iterator[NestedField]:
    if format_version > 1:
        yield _CONTENT
    yield from _LOCATION
    partition_doc = "Partition data tuple, schema based on the partition spec" if format_version > 1 else None
    yield _required(102, "partition", partition_type, partition_doc)
    yield from _SIZE
    if format_version == 1:
        yield _BLOCK_SIZE
    yield from _METRICS
    if format_version > 1:
        yield _EQUALITY_IDS
    yield _SORT_ORDER_ID
    if format_version > 2:
        yield _FIRST_ROW_ID
    if format_version > 1:
        yield _REFERENCED_DATA_FILE
    if format_version > 2:
        yield from _DELETION_VECTOR


_FIELD_SUMMARY = StructType(
    (
        _required(509, "contains_null", _BOOLEAN, "True if any file has a null partition value"),
        _optional(518, "contains_nan", _BOOLEAN, "True if any file has a nan partition value"),
        _optional(510, "lower_bound", _BINARY, "Partition lower bound for all files"),
        _optional(511, "upper_bound", _BINARY, "Partition upper bound for all files"),
    )
)
_FILE_COUNTS = (
    (504, "added_files_count", _INT, "Added entry count"),
    (505, "existing_files_count", _INT, "Existing entry count"),
    (506, "deleted_files_count", _INT, "Deleted entry count"),
)
_ROW_COUNTS = (
    (512, "added_rows_count", _LONG, "Added rows count"),
    (513, "existing_rows_count", _LONG, "Existing rows count"),
    (514, "deleted_rows_count", _LONG, "Deleted rows count"),
)


def manifest_file_type(format_version: int) -> StructType:
    """The type of an entry of a manifest list."""
    return StructType(tuple(_manifest_file_fields(format_version)))


def _manifest_file_fields(format_version: int) -> Iterator[NestedField]:
    yield _required(500, "manifest_path", _STRING, "Location URI with FS scheme")
    yield _required(501, "manifest_length", _LONG, "Total file size in bytes")
    yield _required(502, "partition_spec_id", _INT, "Spec ID used to write")
    if format_version > 1:
        yield _required(517, "content", _INT, "Contents of the manifest: 0=data, 1=deletes")
        yield _required(515, "sequence_number", _LONG, "Sequence number when the manifest was added")
        yield _required(516, "min_sequence_number", _LONG, "Lowest sequence number in the manifest")
    yield _required(503, "added_snapshot_id", _LONG, "Snapshot ID that added the manifest")
    partitions = _optional(507, "partitions", ListType(508, _FIELD_SUMMARY, True), "Summary for each partition")
    file_counts, row_counts = (
        [NestedField(id, name, type, format_version > 1, doc) for id, name, type, doc in counts]
        for counts in (_FILE_COUNTS, _ROW_COUNTS)
    )
    yield from file_counts
    if format_version == 1:
        yield from (partitions, *row_counts)
    else:
        yield from (*row_counts, partitions)
    yield _optional(519, "key_metadata", _BINARY, "Encryption key metadata blob")
    if format_version > 2:
        yield _optional(520, "first_row_id", _LONG, "Starting row ID to assign to new rows in ADDED data files")


def _names(struct: StructType) -> Iterator[tuple[int, str]]:
    for field in struct.fields:
        yield field.id, field.name
        match field.type:
            case StructType():
                yield from _names(field.type)
            case ListType(element=StructType() as element):
                yield from _names(element)


NAMES: dict[int, str] = dict(
    pair
    for version in (1, 3)
    for struct in (entry_type(version, StructType(())), manifest_file_type(version))
    for pair in _names(struct)
)
"""Field names by id. Other writers may use other names; the spec fixes only the ids."""
