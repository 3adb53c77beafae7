"""What a process that commits for others says of a change, as JSON: that it landed, why it did not, or that it is not
taken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    Contender,
    CorruptionError,
    DataError,
    NotFoundError,
    SqlextError,
    StaleRead,
    StorageError,
    UnsupportedError,
    ValidationConflict,
)


@dataclass(frozen=True, slots=True)
class Landed:
    """The change is in the metadata file `location`, as snapshot `snapshot_id` if it made one."""

    location: str
    snapshot_id: int | None
    attempts: int


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Nothing was done: the sender commits it."""

    reason: str


Answer: TypeAlias = Landed | NotTaken | SqlextError

_ERRORS = {
    one.__name__: one
    for one in (
        AlreadyExistsError,
        AnalysisError,
        CommitConflict,
        CommitStateUnknown,
        CorruptionError,
        DataError,
        NotFoundError,
        StaleRead,
        StorageError,
        UnsupportedError,
        ValidationConflict,
    )
}


def encode_answer(answer: Answer) -> bytes:
    told: dict[str, Any]
    match answer:
        case Landed(location, snapshot_id, attempts):
            told = {"landed": location, "snapshot": snapshot_id, "attempts": attempts}
        case NotTaken(reason):
            told = {"not-taken": reason}
        case SqlextError():
            told = {
                "error": type(answer).__name__,
                "condition": answer.condition,
                "parameters": answer.parameters,
            }
            if isinstance(answer, ValidationConflict) and answer.contender is not None:
                told["contender"] = asdict(answer.contender)
    return json.dumps(told).encode()


def decode_answer(data: bytes) -> Answer:
    """ValueError for anything that `encode_answer` does not make."""
    try:
        told = json.loads(data)
        if "landed" in told:
            return Landed(str(told["landed"]), told["snapshot"], int(told["attempts"]))
        if "not-taken" in told:
            return NotTaken(str(told["not-taken"]))
        error = _ERRORS[told["error"]](told["condition"], **told["parameters"])
        if isinstance(error, ValidationConflict) and "contender" in told:
            error.contender = _contender(told["contender"])
        return error
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"no answer: {error!r}") from error


def _contender(told: Mapping[str, Any]) -> Contender:
    planned_on, operation = told["planned_on"], told["operation"]
    return Contender(
        None if planned_on is None else int(planned_on),
        int(told["snapshot_id"]),
        None if operation is None else str(operation),
        int(told["committed_ms"]),
        tuple((str(name), str(value)) for name, value in told["author"]),
        tuple(map(str, told["files"])),
        tuple(map(str, told["keys"])),
    )
