"""`sqlext fsck --repair`: repairs are commits, as those of `CALL fsck`, made without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlext.command.doctor.answer import Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.local.sessionless import environment_of
from sqlext.terminal.examined import examined
from sqlext.terminal.named_catalog import NamedCatalog


def repaired(named: NamedCatalog, table: str | None, *, data_files: bool) -> Iterator[Sequence[object]]:
    """A row for each finding, with what was done about it. Raises as `consult`."""
    environment = environment_of(named.name, dict(named.options))
    for identifier in examined(named, table):
        for answer in consult(environment, named.name, identifier, Repairing.DAMAGE, data_files=data_files):
            one = answer.finding
            place = (one.path, one.snapshot_id)
            yield (str(identifier), one.severity.value, one.check.value, *place, one.found, one.expected, answer.repair)
