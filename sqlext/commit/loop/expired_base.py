"""A base that has expired: another commit removed its snapshot, and the files of that, before the change was staged.

Nothing is lost: the change is staged on the newest version, as after a lost race.
"""

from __future__ import annotations

from sqlext.commit.action import CommitContext, StagedChange, Staging
from sqlext.errors import NotFoundError
from sqlext.spec.metadata.table_metadata import TableMetadata


class BaseHasExpired(Exception):
    """A file of the base is gone, and the table has a newer version."""


def staged(
    staging: Staging, on: TableMetadata | None, *, base: TableMetadata | None, context: CommitContext
) -> StagedChange:
    """The change of `staging` on `on`, which is `base` or `base` with other changes of the same commit.

    Raises BaseHasExpired, and as `Staging.stage`: FILE_NOT_FOUND only if the newest version needs the file.
    """
    try:
        return staging.stage(on)
    except NotFoundError as error:
        if error.condition != "FILE_NOT_FOUND" or base is None or context.is_newest(base):
            raise
        raise BaseHasExpired from error
