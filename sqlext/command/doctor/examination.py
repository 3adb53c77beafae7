"""The examination of a table: its current metadata file, the log of earlier ones, and all that the metadata names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import HINT_NAME, version_number
from sqlext.catalog.transaction_outcomes import OUTCOME
from sqlext.command.doctor.data_file_checks import data_file_findings
from sqlext.command.doctor.stream_state_checks import stream_state_findings
from sqlext.errors import AnalysisError, CorruptionError, NotFoundError, SqlextError, UnsupportedError
from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.scan.checks.table_checks import CHECKSUM_EXPECTED, CHECKSUM_FOUND, TableCheck, check_changelogs, check_table
from sqlext.spec.metadata.metadata_checksum import checksum_state
from sqlext.spec.metadata.stored_changelog import changelogs_table
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each, in_threads
from sqlext.storage.location import join

_NOT_READ = TableCheck(())


@dataclass(frozen=True, slots=True)
class Examination:
    """What is wrong with a table. `table` is None if its current metadata file `damaged` cannot be read; both are given
    for a file that can be read and has other bytes than were written, and what it names is examined if it can be.
    `outcome` is a file that does not say whether the transaction of the current metadata file is committed."""

    findings: tuple[Finding, ...]
    table: LoadedTable | None
    damaged: str | None = None
    check: TableCheck = _NOT_READ
    changelogs: TableCheck = _NOT_READ
    outcome: str | None = None


def examine(
    catalog: Catalog, identifier: TableIdentifier, *, data_files: bool = False, each: Each = in_threads
) -> Examination:
    """Examines a table of the catalog, each of its metadata objects by `each`; with `data_files` also what the data
    files say of themselves.

    Raises NotFoundError TABLE_OR_VIEW_NOT_FOUND, AnalysisError EXPECT_TABLE_NOT_VIEW, StorageError if the store does
    not answer, UnsupportedError for a later format version or encryption.
    """
    try:
        table = catalog.load_table(identifier)
    except (CorruptionError, NotFoundError) as error:
        if error.condition not in ("CORRUPT_FILE", "FILE_NOT_FOUND"):
            raise
        path = str(error.parameters["path"])
        check = Check.UNREADABLE if isinstance(error, CorruptionError) else Check.MISSING
        found = str(error.parameters.get("reason", "no file"))
        if error.parameters.get("kind") == OUTCOME:
            expected = "whether the current metadata of the table is committed"
            return Examination((Finding(check, path, found, expected),), None, outcome=path)
        return Examination((Finding(check, path, found, "the current metadata of the table"),), None, path)
    findings = list(_of_current_file(catalog.io, table))
    damaged = table.metadata_location if findings else None
    findings += hint_findings(catalog.io, table.metadata_location)
    findings += _of_log(catalog.io, table, each)
    try:
        version = examine_version(catalog.io, table.metadata, table.metadata_location, data_files=data_files, each=each)
    except SqlextError:
        if damaged is None:
            raise
        # A location in it may be damaged, so that no store or another answers.
        version = Examination((), None)
    return replace(version, findings=(*findings, *version.findings), table=table, damaged=damaged)


def examine_version(
    io: FileIO, metadata: TableMetadata, location: str, *, data_files: bool = False, each: Each = in_threads
) -> Examination:
    """As `examine`, of what the metadata in the file at `location` names, whether or not a catalog knows it."""
    checked = check_table(io, metadata, location, each)
    changelogs = check_changelogs(io, metadata, each)
    findings = [*checked.findings, *changelogs.findings, *stream_state_findings(metadata, location)]
    if data_files:
        stored = changelogs_table(metadata)
        named = (metadata.snapshot_or_none(one.snapshot_id) for one in metadata.refs.values())
        findings += data_file_findings(io, metadata, [one for one in named if one is not None], each)
        findings += data_file_findings(io, stored, stored.snapshots, each)
    return Examination(tuple(findings), None, None, checked, changelogs)


def _of_current_file(io: FileIO, table: LoadedTable) -> Iterator[Finding]:
    """Of the bytes of the file; of a table of a REST catalog that does not say where the file is, nothing."""
    if not table.metadata_location:
        return
    try:
        state = checksum_state(io.read(table.metadata_location))
    except FileNotFoundError:
        found, expected = "no file", "the current metadata of the table"
        yield Finding(Check.MISSING, table.metadata_location, found, expected, Severity.WARNING)
        return
    if state == ChecksumState.WRONG:
        yield Finding(Check.CHECKSUM, table.metadata_location, CHECKSUM_FOUND, CHECKSUM_EXPECTED)


def hint_findings(io: FileIO, current: str) -> Iterator[Finding]:
    """The hint of a folder, whose current metadata file is `current`, may be behind, and is set by the next commit."""
    number = version_number(current)
    if number is None:
        return
    path = join(current.rpartition("/")[0], HINT_NAME)
    try:
        text = io.read(path)
    except FileNotFoundError:
        return
    if text.strip() != str(number).encode("ascii"):
        found = text.decode("ascii", "backslashreplace")
        yield Finding(Check.POINTER, path, found, str(number), Severity.NOTICE)


def _of_log(io: FileIO, table: LoadedTable, each: Each) -> Iterator[Finding]:
    """Earlier metadata files, from which time travel and repairs read."""

    def fault(path: str) -> Finding | None:
        try:
            data = io.read(path)
        except FileNotFoundError:
            return Finding(Check.MISSING, path, "no file", "an earlier metadata file", Severity.WARNING)
        except (AnalysisError, UnsupportedError) as error:
            return Finding(Check.UNREADABLE, path, str(error), "an earlier metadata file", Severity.WARNING)
        state = checksum_state(data)
        if state == ChecksumState.WRONG:
            return Finding(Check.CHECKSUM, path, CHECKSUM_FOUND, CHECKSUM_EXPECTED, Severity.WARNING)
        if state == ChecksumState.ABSENT:
            try:
                decode_table_metadata(data, path)
            except CorruptionError as error:
                reason = str(error.parameters["reason"])
                return Finding(Check.UNREADABLE, path, reason, "an earlier metadata file", Severity.WARNING)
        return None

    found = each(fault, [entry.metadata_file for entry in table.metadata.metadata_log])
    yield from (one for one in found if one is not None)
