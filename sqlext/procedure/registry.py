"""The procedures there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from sqlext.errors import NotFoundError
from sqlext.procedure.add_files import ADD_FILES
from sqlext.procedure.ancestors_of import ANCESTORS_OF
from sqlext.procedure.cherrypick_snapshot import CHERRYPICK_SNAPSHOT
from sqlext.procedure.compact import COMPACT, RESCALE
from sqlext.procedure.consumers import CONSUMERS, DROP_CONSUMER, RESET_CONSUMER
from sqlext.procedure.convert_equality_deletes import CONVERT_EQUALITY_DELETES
from sqlext.procedure.dropped_tables import DROPPED_TABLES
from sqlext.procedure.fast_forward import FAST_FORWARD
from sqlext.procedure.migrate import MIGRATE
from sqlext.procedure.procedure import Procedure
from sqlext.procedure.publish_changes import PUBLISH_CHANGES
from sqlext.procedure.register_table import REGISTER_TABLE
from sqlext.procedure.remove_expired_changelogs import REMOVE_EXPIRED_CHANGELOGS
from sqlext.procedure.rollback import ROLLBACK_TO_SNAPSHOT, ROLLBACK_TO_TIMESTAMP
from sqlext.procedure.set_current_snapshot import SET_CURRENT_SNAPSHOT
from sqlext.procedure.snapshot import SNAPSHOT
from sqlext.sql.statement import Call

PROCEDURES: Mapping[str, Procedure] = MappingProxyType(
    {
        procedure.name: procedure
        for procedure in (
            ADD_FILES,
            ANCESTORS_OF,
            CHERRYPICK_SNAPSHOT,
            COMPACT,
            CONSUMERS,
            CONVERT_EQUALITY_DELETES,
            DROP_CONSUMER,
            DROPPED_TABLES,
            FAST_FORWARD,
            MIGRATE,
            PUBLISH_CHANGES,
            REGISTER_TABLE,
            REMOVE_EXPIRED_CHANGELOGS,
            RESCALE,
            RESET_CONSUMER,
            ROLLBACK_TO_SNAPSHOT,
            ROLLBACK_TO_TIMESTAMP,
            SET_CURRENT_SNAPSHOT,
            SNAPSHOT,
        )
    }
)


def find_procedure(statement: Call) -> Procedure:
    """The procedure that is called; NotFoundError with the nearest name."""
    found = PROCEDURES.get(statement.procedure)
    if found is None:
        near = get_close_matches(statement.procedure, PROCEDURES, n=1, cutoff=0.0)
        raise NotFoundError(
            "PROCEDURE_NOT_FOUND",
            procedure=statement.procedure,
            near=near[0],
            catalog=statement.catalog,
        )
    return found
