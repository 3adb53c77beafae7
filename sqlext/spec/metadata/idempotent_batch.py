"""Batches of rows that a table takes once: an application and the version of its batch, as Delta's txnAppId and
txnVersion.

The last version of each application is a table property that the commit of the rows changes, so it survives expiry,
rollback, rename and the loss of a branch, as the progress of a stream does (docs/decisions/0004).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote

from sqlext.errors import BatchRanBefore, CorruptionError
from sqlext.spec.metadata.stream_state import BATCH_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

LONGEST_APP_ID = 256
LARGEST_VERSION = 2**63 - 1
_FORMAT = 1


def application_id(text: str) -> str:
    """The id of an application. Raises ValueError that tells what is one."""
    if not text.strip() or len(text) > LONGEST_APP_ID:
        raise ValueError(f"a text of 1 to {LONGEST_APP_ID} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a Unicode text without half a surrogate pair") from None
    return text


def batch_version(text: str) -> int:
    """The version of a batch. Raises ValueError that tells what is one."""
    digits = text.strip()
    # Longer texts are not parsed, which takes quadratic time.
    if digits.isascii() and digits.isdigit() and len(digits) <= len(str(LARGEST_VERSION)):
        version = int(digits)
        if version <= LARGEST_VERSION:
            return version
    raise ValueError(f"a whole number from 0 to {LARGEST_VERSION}")


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch `version` of the application `app_id`. Of one application, batches with larger versions are later."""

    app_id: str
    version: int

    @property
    def property_name(self) -> str:
        """The table property with the application's last batch. The id is percent-encoded."""
        return BATCH_PREFIX + quote(self.app_id, safe="")

    def last_run(self, metadata: TableMetadata, name: str) -> BatchRun | None:
        """The run of the application's last batch in the table; None if it has written none.

        Raises CorruptionError BATCH_UNREADABLE for a property that does not parse.
        """
        text = metadata.properties.get(self.property_name)
        if text is None:
            return None
        try:
            value = json.loads(text)
            if value["format"] != _FORMAT:
                raise ValueError(f"its format is {value['format']}")
            return BatchRun(Batch(self.app_id, int(value["version"])), str(value["run"]), int(value["at"]))
        except (ValueError, TypeError, KeyError) as error:
            raise CorruptionError(
                "BATCH_UNREADABLE", name=name, app_id=self.app_id, property=self.property_name, reason=error
            ) from None


@dataclass(frozen=True, slots=True)
class BatchRun:
    """One run of a batch, at a time in milliseconds since 1970.

    `run` is an id of the statement, or of the transaction that it is part of: all statements of one transaction are one
    run.
    """

    batch: Batch
    run: str
    at_ms: int

    def encode(self) -> str:
        """The value of the property."""
        return json.dumps({"format": _FORMAT, "version": self.batch.version, "at": self.at_ms, "run": self.run})

    def require_first(self, metadata: TableMetadata, name: str) -> None:
        """Raises BatchRanBefore if the table has this batch, or a later one of the application, from another run.

        A run does not come behind a later batch of its own either. Raises as `Batch.last_run`.
        """
        last = self.batch.last_run(metadata, name)
        if last is None or last.batch.version < self.batch.version:
            return
        if (last.batch, last.run) != (self.batch, self.run):
            raise BatchRanBefore(
                "BATCH_RAN_BEFORE",
                name=name,
                app_id=self.batch.app_id,
                version=self.batch.version,
                last=last.batch.version,
            )
