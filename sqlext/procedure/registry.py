"""All procedures, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlext.errors import NotFoundError
from sqlext.procedure.care_status import CARE_STATUS
from sqlext.procedure.compact import COMPACT, RESCALE
from sqlext.procedure.compute_statistics import COMPUTE_PARTITION_STATS, COMPUTE_TABLE_STATS
from sqlext.procedure.consumers import CONSUMERS, DROP_CONSUMER, RESET_CONSUMER
from sqlext.procedure.convert_equality_deletes import CONVERT_EQUALITY_DELETES
from sqlext.procedure.create_changelog_view import CREATE_CHANGELOG_VIEW
from sqlext.procedure.describe_table import DESCRIBE_TABLE
from sqlext.procedure.dropped_tables import DROPPED_TABLES
from sqlext.procedure.expire_partitions import EXPIRE_PARTITIONS
from sqlext.procedure.expire_snapshots import EXPIRE_SNAPSHOTS
from sqlext.procedure.foreign.add_files import ADD_FILES
from sqlext.procedure.foreign.migrate import MIGRATE
from sqlext.procedure.foreign.register_table import REGISTER_TABLE
from sqlext.procedure.foreign.snapshot_table import SNAPSHOT
from sqlext.procedure.fsck import FSCK
from sqlext.procedure.health import HEALTH
from sqlext.procedure.history.ancestors_of import ANCESTORS_OF
from sqlext.procedure.history.cherrypick_snapshot import CHERRYPICK_SNAPSHOT
from sqlext.procedure.history.fast_forward import FAST_FORWARD
from sqlext.procedure.history.merge_branch import MERGE_BRANCH
from sqlext.procedure.history.publish_changes import PUBLISH_CHANGES
from sqlext.procedure.history.rollback import ROLLBACK_TO_SNAPSHOT, ROLLBACK_TO_TIMESTAMP
from sqlext.procedure.history.set_current_snapshot import SET_CURRENT_SNAPSHOT
from sqlext.procedure.history.undo_snapshot import UNDO
from sqlext.procedure.optimize_all import OPTIMIZE_ALL
from sqlext.procedure.procedure import Procedure
from sqlext.procedure.remove_expired_changelogs import REMOVE_EXPIRED_CHANGELOGS
from sqlext.procedure.remove_orphan_files import REMOVE_ORPHAN_FILES
from sqlext.procedure.rewrite_data_files import REWRITE_DATA_FILES
from sqlext.procedure.rewrite_manifests import REWRITE_MANIFESTS
from sqlext.procedure.rewrite_position_delete_files import REWRITE_POSITION_DELETE_FILES
from sqlext.procedure.rewrite_table_path import REWRITE_TABLE_PATH
from sqlext.spec.name_suggestion import nearest

PROCEDURES: Mapping[str, Procedure] = MappingProxyType(
    {
        procedure.name: procedure
        for procedure in (
            ADD_FILES,
            ANCESTORS_OF,
            CARE_STATUS,
            CHERRYPICK_SNAPSHOT,
            COMPACT,
            COMPUTE_PARTITION_STATS,
            COMPUTE_TABLE_STATS,
            CONSUMERS,
            CONVERT_EQUALITY_DELETES,
            CREATE_CHANGELOG_VIEW,
            DESCRIBE_TABLE,
            DROP_CONSUMER,
            DROPPED_TABLES,
            EXPIRE_PARTITIONS,
            EXPIRE_SNAPSHOTS,
            FAST_FORWARD,
            MERGE_BRANCH,
            FSCK,
            HEALTH,
            MIGRATE,
            OPTIMIZE_ALL,
            PUBLISH_CHANGES,
            REGISTER_TABLE,
            REMOVE_EXPIRED_CHANGELOGS,
            REMOVE_ORPHAN_FILES,
            RESCALE,
            RESET_CONSUMER,
            REWRITE_DATA_FILES,
            REWRITE_MANIFESTS,
            REWRITE_TABLE_PATH,
            REWRITE_POSITION_DELETE_FILES,
            ROLLBACK_TO_SNAPSHOT,
            ROLLBACK_TO_TIMESTAMP,
            SET_CURRENT_SNAPSHOT,
            SNAPSHOT,
            UNDO,
        )
    }
)


# What to use instead of procedures of Iceberg and Paimon that sqlext lacks: text after "There is no procedure …".
_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "compact_manifest": "CALL {catalog}.system.rewrite_manifests(…) makes few manifests of many",
        "compact_database": "CALL {catalog}.system.optimize_all(…) compacts all tables",
        "create_branch": "ALTER TABLE … CREATE BRANCH makes a branch",
        "delete_branch": "ALTER TABLE … DROP BRANCH drops a branch",
        "create_tag": "ALTER TABLE … CREATE TAG makes a tag",
        "replace_tag": "ALTER TABLE … REPLACE TAG moves a tag",
        "delete_tag": "ALTER TABLE … DROP TAG drops a tag",
        "rollback": "CALL {catalog}.system.rollback_to_snapshot(…) makes an earlier snapshot the current one",
        "rollback_to_as_of_latest": "CALL {catalog}.system.rollback_to_timestamp(…) goes back to a time",
        "migrate_table": "CALL {catalog}.system.migrate(…) takes over a table of spark_catalog",
        "clear_consumers": "CALL {catalog}.system.drop_consumer(…) drops a consumer",
    }
)


def find_procedure(catalog: str, name: str) -> Procedure:
    """The procedure `name`. Raises NotFoundError PROCEDURE_NOT_FOUND, with what to use instead if that is known."""
    found = PROCEDURES.get(name)
    if found is None:
        raise NotFoundError("PROCEDURE_NOT_FOUND", procedure=name, way_out=_way_out(catalog, name))
    return found


def _way_out(catalog: str, name: str) -> str:
    if name in _INSTEAD:
        return _INSTEAD[name].format(catalog=catalog)
    near = nearest(name, PROCEDURES)
    return (
        f"Did you mean {near}? CALL {catalog}.system.{near}(…) runs it"
        if near
        else f"SHOW PROCEDURES IN {catalog}.system lists them"
    )
