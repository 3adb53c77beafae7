"""A change as one process hands it to another that commits it, as JSON: values of a few classes, nothing that runs.

A value whose class JSON has not is an object: `{"bytes": …}`, `{"set": […]}`, or `{"is": <class>, "fields": {…}}` for
one of the frozen classes below. Sequences come back as tuples.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyroaring import BitMap64

from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.spec import expression
from sqlext.spec.manifests.content_file import Content, ContentFile


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A change of a table that was planned on the metadata file `base`.

    `token` is the sender's name for it, which its snapshot tells. `may_have_landed`: a process to which it was handed
    before has died with it.
    """

    identifier: TableIdentifier
    base: str
    table_uuid: str
    action: Action
    destination: Destination
    token: str
    may_have_landed: bool = False


_CLASSES: Mapping[str, type] = {
    one.__name__: one
    for one in (
        CommitRequest,
        TableIdentifier,
        Destination,
        AppendFiles,
        OverwriteFiles,
        OverwriteRows,
        RowDelta,
        ContentFile,
        DeletedRows,
        expression.AlwaysTrue,
        expression.AlwaysFalse,
        expression.Not,
        expression.And,
        expression.Or,
        expression.IsNull,
        expression.NotNull,
        expression.IsNaN,
        expression.NotNaN,
        expression.Comparison,
        expression.In,
        expression.NotIn,
        expression.StartsWith,
        expression.InBucket,
    )
}


def encode_request(request: CommitRequest) -> bytes | None:
    """None for a change that holds what cannot be told."""
    try:
        return json.dumps(_told(request), separators=(",", ":")).encode()
    except (TypeError, RecursionError):
        return None


def decode_request(data: bytes) -> CommitRequest:
    """ValueError for anything that `encode_request` does not make."""
    try:
        request = _understood(json.loads(data))
    except (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"no request: {error!r}") from error
    if not isinstance(request, CommitRequest):
        raise ValueError(f"no request: {type(request).__name__}")
    return request


def _told(value: Any) -> Any:
    plain = _told_plainly(value)
    if plain is not None or value is None:
        return plain
    name = type(value).__name__
    if not is_dataclass(value) or _CLASSES.get(name) is not type(value):
        raise TypeError(f"{name} is not told to other processes")
    return {"is": name, "fields": {field.name: _told(getattr(value, field.name)) for field in fields(value)}}


def _told_plainly(value: Any) -> Any:
    """None for a value of one of the classes."""
    match value:
        # An enumeration is an integer too.
        case Content():
            return {"content": int(value)}
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": value.hex()}
        case bytes():
            return {"bytes": _base64(value)}
        case Decimal():
            return {"decimal": str(value)}
        case UUID():
            return {"uuid": str(value)}
        case BitMap64():
            return {"positions": _base64(value.serialize())}
        case AbstractSet():
            return {"set": [_told(one) for one in value]}
        case Mapping():
            return {"map": [[_told(key), _told(one)] for key, one in value.items()]}
        case Sequence():
            return [_told(one) for one in value]
    return None


def _understood(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_understood(one) for one in value)
    if not isinstance(value, dict):
        return value
    if "is" in value:
        return _CLASSES[value["is"]](**{name: _understood(one) for name, one in value["fields"].items()})
    ((tag, told),) = value.items()
    return _FROM_TAG[tag](told)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


_FROM_TAG: Mapping[str, Callable[[Any], Any]] = {
    "content": Content,
    "float": float.fromhex,
    "bytes": base64.b64decode,
    "decimal": Decimal,
    "uuid": UUID,
    "positions": lambda text: BitMap64.deserialize(base64.b64decode(text)),
    "set": lambda told: frozenset(_understood(one) for one in told),
    "map": lambda told: {_understood(key): _understood(one) for key, one in told},
}
