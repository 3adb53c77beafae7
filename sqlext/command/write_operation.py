"""The data files of one write operation, which are removed if it fails."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlext.commit.snapshot.own_files import delete_files
from sqlext.spark.bridge.interrupts import raise_if_requested
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.row_rules import row_rules
from sqlext.storage.file_io import FileIO
from sqlext.write.created_files import CreatedFiles
from sqlext.write.write_plan import WritePlan

_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class WriteOperation:
    """A write plan, whose operation id is in the name of each file written."""

    plan: WritePlan
    io: CreatedFiles

    @contextmanager
    def cleaned_on_failure(self) -> Iterator[WriteOperation]:
        """Removes all files of the operation if the block fails or the user interrupts it.

        The commit is outside the block: it removes the files of its action itself, unless it may have succeeded.
        """
        try:
            yield self
            raise_if_requested()
        except BaseException:
            self._remove_files()
            raise

    def discard(self, files: Iterable[ContentFile]) -> None:
        """Removes files that tasks have written in vain, as another way replaces this one."""
        delete_files(self.io, (file.file_path for file in files))

    def _remove_files(self) -> None:
        """Removes the files that this process has created, if executors created none.

        Else removes the operation's files in the table's data folder until a listing has none: a cancelled task may
        just have finished one, and a killed task reports none.
        """
        created = self.io.locations
        if created is not None:
            for location in created:
                self.io.delete(location)
            return
        while self._remove_present_files():
            time.sleep(_PAUSE_S)

    def _remove_present_files(self) -> bool:
        paths = [one.path for one in self.io.list(self.plan.data_location) if self.plan.operation_id in one.path]
        for path in paths:
            self.io.delete(path)
        return bool(paths)


def begin_write(metadata: TableMetadata, io: FileIO, table_name: str, rng: random.Random) -> WriteOperation:
    """A new operation on a table's current schema, spec and properties."""
    operation_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    rules = row_rules(metadata.schema(), metadata.properties)
    created = CreatedFiles(io)
    plan = replace(WritePlan.from_metadata(metadata, operation_id, table_name, rules), io=created)
    return WriteOperation(plan, created)
