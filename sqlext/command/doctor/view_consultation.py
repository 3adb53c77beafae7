"""What fsck answers of a view: what is wrong with its metadata, and what mends it or has been done about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_pointer import metadata_number
from sqlext.catalog.view_catalog import LoadedView
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.examination import hint_findings
from sqlext.errors import CorruptionError, NotFoundError, SqlextError
from sqlext.scan.checks.finding import Check, Finding
from sqlext.scan.checks.table_checks import CHECKSUM_EXPECTED, CHECKSUM_FOUND
from sqlext.scan.checks.view_checks import view_findings
from sqlext.spec.metadata import metadata_checksum
from sqlext.spec.metadata.view_metadata import ViewMetadata, decode_view_metadata
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join

_UUID = re.compile(rb'"view-uuid"\s*:\s*"([0-9a-f-]{36})"')
_WAY_OUT = "repair => true"
_NEW_DEFINITION = "CREATE OR REPLACE VIEW with its query"


def consult_view(catalog: Catalog, identifier: TableIdentifier, repairing: Repairing) -> Sequence[Answer]:
    """Examines a view, and repairs it as far as it may. Raises NotFoundError, AnalysisError EXPECT_VIEW_NOT_TABLE,
    StorageError, and as `ViewCatalog.replace_damaged`."""
    damaged, findings = _examined(catalog, identifier)
    if damaged is None or repairing == Repairing.NOTHING:
        return [Answer(one, _WAY_OUT if one.path == damaged else _way_out(one)) for one in findings]
    done = _turned_back(catalog, damaged) or restore_view(catalog, identifier, damaged)
    done = done or f"not done: no earlier metadata file can be read; {_NEW_DEFINITION}"
    return [Answer(one, done if one.path == damaged else _way_out(one)) for one in findings]


def restore_view(catalog: Catalog, identifier: TableIdentifier, damaged: str) -> str | None:
    """Makes the newest earlier version of a view that can be read the current one, and says so; None if there is none.
    Raises as `ViewCatalog.replace_damaged`."""
    uuid = _uuid(catalog.io, damaged)
    for location in _earlier(catalog.io, damaged):
        metadata = _readable(catalog.io, location)
        if metadata is not None and uuid in (None, metadata.view_uuid):
            made = catalog.views.replace_damaged(identifier, damaged, metadata)
            return (
                f"{location} is the current version again, as {made.metadata_location}; the changes after it are lost"
            )
    return None


def _examined(catalog: Catalog, identifier: TableIdentifier) -> tuple[str | None, list[Finding]]:
    """What is wrong, and the current metadata file if it is not what was written."""
    try:
        view = catalog.views.load_view(identifier)
    except (CorruptionError, NotFoundError) as error:
        if error.condition not in ("CORRUPT_FILE", "FILE_NOT_FOUND"):
            raise
        path = str(error.parameters["path"])
        check = Check.UNREADABLE if isinstance(error, CorruptionError) else Check.MISSING
        found = str(error.parameters.get("reason", "no file"))
        return path, [Finding(check, path, found, "the current metadata of the view")]
    damage = list(_of_bytes(catalog.io, view))
    hint = hint_findings(catalog.io, view.metadata_location)
    found_in_it = view_findings(view.metadata, view.metadata_location)
    return (view.metadata_location if damage else None), [*damage, *hint, *found_in_it]


def _of_bytes(io: FileIO, view: LoadedView) -> Iterator[Finding]:
    """Of the bytes of the file; of a view of a REST catalog that does not say where the file is, nothing."""
    if not view.metadata_location:
        return
    # The file of a server may be where clients cannot read.
    with suppress(FileNotFoundError, SqlextError):
        if metadata_checksum.checksum_state(io.read(view.metadata_location)) == ChecksumState.WRONG:
            yield Finding(Check.CHECKSUM, view.metadata_location, CHECKSUM_FOUND, CHECKSUM_EXPECTED)


def _way_out(finding: Finding) -> str:
    if finding.check == Check.POINTER:
        return "none needed: the next commit sets it"
    return _NEW_DEFINITION


def _turned_back(catalog: Catalog, damaged: str) -> str | None:
    with suppress(FileNotFoundError):
        mended = metadata_checksum.without_flipped_bit(catalog.io.read(damaged))
        if mended is not None:
            catalog.io.replace(damaged, mended)
            return "one bit had changed, and is as it was written; nothing is lost"
    return None


def _earlier(io: FileIO, damaged: str) -> Sequence[str]:
    """Locations of earlier metadata files, the newest first: views have no log of them."""
    folder, number = damaged.rpartition("/")[0], metadata_number(damaged)
    listed = [one for one in io.list(folder) if 0 <= metadata_number(one.path) < number]
    listed.sort(key=lambda one: (metadata_number(one.path), one.modified_ms), reverse=True)
    return [join(folder, one.path.rpartition("/")[2]) for one in listed]


def _uuid(io: FileIO, damaged: str) -> str | None:
    """The view's uuid as far as the damaged file has it: its folder may have files of a view that was dropped."""
    with suppress(FileNotFoundError):
        found = _UUID.search(io.read(damaged))
        return None if found is None else found[1].decode("ascii")
    return None


def _readable(io: FileIO, location: str) -> ViewMetadata | None:
    """The version in a metadata file; None if it cannot be read, or has other bytes than were written."""
    with suppress(SqlextError, FileNotFoundError):
        data = io.read(location)
        if metadata_checksum.checksum_state(data) != ChecksumState.WRONG:
            return decode_view_metadata(data, location)
    return None
