"""Messages from a write task to the driver, as rows of one Arrow schema.

Nothing is pickled: the driver reads what executors wrote as data, never as code.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, cast
from uuid import UUID

import pyarrow as pa
from pyroaring import BitMap64

from sqlext.errors import SqlextError
from sqlext.spec.manifests.content_file import Content, ContentFile

Kind = Literal[
    "file", "positions", "matched", "repeated", "origins", "stored_origins", "counts", "error", "left", "done"
]

MESSAGE_SCHEMA = pa.schema(
    [pa.field("kind", pa.string()), pa.field("path", pa.string()), pa.field("payload", pa.binary())]
)


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """One message of a task; `kind` says which property may be read.

    `file`: a content file that was written. `positions`: rows deleted from the data file `path`. `matched`: rows of
    `path` that a source row matches and no clause changes. `repeated`: positions of either kind that several rows of
    the task name. `origins`: of the rows of the new data file `path`, as `OriginRuns.packed`; `stored_origins`: their
    head, of which the rest is at `origins_location(path)`. `left`: nothing is written for the task's number, in `path`;
    `done`: all messages for it have come. `counts`: rows by verb. `error`: why the task stopped.
    """

    kind: Kind
    path: str
    payload: bytes

    @property
    def content_file(self) -> ContentFile:
        """The file of a `file` message."""
        return _content_file_from_json(json.loads(self.payload))

    @property
    def bitmap(self) -> BitMap64:
        """The positions of a `positions`, `matched` or `repeated` message."""
        return BitMap64.deserialize(self.payload)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by `inserted`, `updated`, `deleted`, of a `counts` message."""
        return cast("dict[str, int]", json.loads(self.payload))

    @property
    def error(self) -> tuple[str, dict[str, str]]:
        """Condition and parameters of an `error` message."""
        obj = json.loads(self.payload)
        return obj["condition"], obj["parameters"]


def file_message(file: ContentFile) -> TaskMessage:
    return TaskMessage("file", file.file_path, _json_bytes(_content_file_to_json(file)))


def positions_message(path: str, positions: BitMap64) -> TaskMessage:
    return TaskMessage("positions", path, positions.serialize())


def matched_message(path: str, positions: BitMap64) -> TaskMessage:
    return TaskMessage("matched", path, positions.serialize())


def repeated_message(path: str, positions: BitMap64) -> TaskMessage:
    return TaskMessage("repeated", path, positions.serialize())


def origins_message(path: str, packed: bytes) -> TaskMessage:
    return TaskMessage("origins", path, packed)


def stored_origins_message(path: str, head: bytes) -> TaskMessage:
    return TaskMessage("stored_origins", path, head)


def left_message(number: int) -> TaskMessage:
    return TaskMessage("left", str(number), b"")


def done_message(number: int) -> TaskMessage:
    return TaskMessage("done", str(number), b"")


def origins_location(path: str) -> str:
    """The file of the origins of a data file's rows, which is needed until the commit."""
    return f"{path}.origins"


def counts_message(counts: Mapping[str, int]) -> TaskMessage:
    return TaskMessage("counts", "", _json_bytes(dict(counts)))


def error_message(error: SqlextError) -> TaskMessage:
    return TaskMessage("error", "", _json_bytes({"condition": error.condition, "parameters": error.parameters}))


def encode_messages(messages: Iterable[TaskMessage]) -> pa.RecordBatch:
    """The messages as one batch of `MESSAGE_SCHEMA`."""
    rows = list(messages)
    columns = [[row.kind for row in rows], [row.path for row in rows], [row.payload for row in rows]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, MESSAGE_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=MESSAGE_SCHEMA)


def decode_messages(batch: pa.RecordBatch) -> Iterator[TaskMessage]:
    """The messages of a batch, whose columns are read by name, as an engine may have changed their Arrow types."""
    columns = (batch.column(name).to_pylist() for name in MESSAGE_SCHEMA.names)
    for kind, path, payload in zip(*columns, strict=True):
        yield TaskMessage(kind, path, payload)


_COUNT_FIELDS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
_BOUND_FIELDS = ("lower_bounds", "upper_bounds")


def _content_file_to_json(file: ContentFile) -> dict[str, Any]:
    obj = {field.name: getattr(file, field.name) for field in fields(file)}
    present = {name: value for name, value in obj.items() if value is not None}
    present["content"] = int(file.content)
    present["partition"] = [_tagged(value) for value in file.partition]
    for name in _BOUND_FIELDS:
        if name in present:
            present[name] = {id: _base64(bound) for id, bound in present[name].items()}
    if file.key_metadata is not None:
        present["key_metadata"] = _base64(file.key_metadata)
    return present


def _content_file_from_json(obj: dict[str, Any]) -> ContentFile:
    obj["content"] = Content(obj["content"])
    obj["partition"] = tuple(_untagged(value) for value in obj["partition"])
    for name in _COUNT_FIELDS:
        if name in obj:
            obj[name] = {int(id): count for id, count in obj[name].items()}
    for name in _BOUND_FIELDS:
        if name in obj:
            obj[name] = {int(id): base64.b64decode(bound) for id, bound in obj[name].items()}
    for name in ("split_offsets", "equality_ids"):
        if name in obj:
            obj[name] = tuple(obj[name])
    if "key_metadata" in obj:
        obj["key_metadata"] = base64.b64decode(obj["key_metadata"])
    return ContentFile(**obj)


def _tagged(value: Any) -> Any:
    """A stored value as JSON that can be read without its type."""
    match value:
        case Decimal():
            return {"decimal": str(value)}
        case UUID():
            return {"uuid": str(value)}
        case bytes():
            return {"bytes": _base64(value)}
        case float():
            # Not as a JSON number: NaN and infinities are partition values too.
            return {"float": value.hex()}
    return value


_FROM_TAG: Mapping[str, Callable[[str], Any]] = {
    "decimal": Decimal,
    "uuid": UUID,
    "bytes": base64.b64decode,
    "float": float.fromhex,
}


def _untagged(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, text),) = value.items()
    return _FROM_TAG[tag](text)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _json_bytes(obj: Any) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()
