"""Changes of one table that land together: each is staged on the metadata that the one before it leaves, in memory, and
one compare-and-swap lands them all.

What comes of it is what the same commits one after the other would have made: those that read or delete something
first, each as a snapshot with a sequence number of its own, so that equality deletes hit the rows of the members before
them, then the plain appends, as one snapshot. The members' statements overlap in time, so no order of them is a wrong
one, and in this one no append makes a reader stale.

Each member has its own verdict. That of one which failed is final once the others have landed: until then what it
conflicts with may be a member that never does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import Action, CommitContext, Destination, StagedChange, Staging
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.small_files import AppendedFiles, SmallFiles, merged
from sqlext.commit.loop import expired_base
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.expired_base import BaseHasExpired
from sqlext.commit.loop.same_table import require_same_table
from sqlext.commit.loop.transaction import CommitOutcome, commit
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.errors import CommitStateUnknown, NotFoundError, SqlextError, ValidationConflict
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.constraint import row_rule_properties
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.metadata_update import apply_updates
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

Verdict: TypeAlias = CommitOutcome | BaseException
"""What became of one member: what `commit` returns or raises."""

TOKENS_PROPERTY = "sqlext.commit-tokens"
"""The snapshot summary's key of the tokens of its members that are of other processes."""

RowChange: TypeAlias = AppendFiles | OverwriteFiles | OverwriteRows | RowDelta
_ROW_CHANGES = (AppendFiles, OverwriteFiles, OverwriteRows, RowDelta)


@dataclass(frozen=True, slots=True)
class Member:
    """One change of a group, as the arguments of `commit`; `base` is the version that it was planned on.

    The change of another process has a `token`, which its snapshot tells: should the committing process die, that is
    how the other one finds it. `may_have_landed`: this has happened, so it is looked for in the table before it is
    staged, and its files stay where it fails.
    """

    action: Action
    base: LoadedTable
    destination: Destination
    commit_id: str
    token: str | None = None
    may_have_landed: bool = False


def may_land_together(action: Action) -> bool:
    """Whether the action can be a member: it changes rows, and nothing else of the table."""
    return isinstance(action, _ROW_CHANGES)


def commit_group(
    catalog: Catalog,
    identifier: TableIdentifier,
    members: Sequence[Member],
    *,
    base: LoadedTable,
    clock: Callable[[], int],
    rng: random.Random,
    sleep: Callable[[float], None],
    manifests: ManifestCache | None = None,
    small: SmallFiles | None = None,
    queue: AttemptQueue | None = None,
) -> list[Verdict]:
    """Commits changes of one table, from the version `base`, which is none older than those of the members.

    One verdict for each, in their order. After an error but `CommitStateUnknown` the member's files have been deleted.
    With `small`, so have those small files of plain appends whose rows have landed in another file. Arguments as of
    `commit`.
    """
    group = _Group(members, small)
    try:
        outcome = commit(
            catalog,
            identifier,
            group,
            base=base,
            clock=clock,
            rng=rng,
            sleep=sleep,
            manifests=manifests,
            queue=queue,
        )
    except Exception as error:
        return group.verdicts(error)
    return group.verdicts(outcome)


def landed_before(member: Member, base: TableMetadata, name: str) -> Snapshot | None:
    """The snapshot of a member that was handed to a process which has died; None if it has none.

    `CommitStateUnknown` where snapshots since the member's own base are gone, or the table is.
    """
    planned_on, token = member.base.metadata, member.token
    if base.table_uuid == planned_on.table_uuid:
        later = [one for one in base.snapshots if one.sequence_number > planned_on.last_sequence_number]
        for snapshot in later:
            if token in snapshot.summary.get(TOKENS_PROPERTY, "").split():
                return snapshot
        # Each snapshot has the next number, on whatever branch.
        if len(later) == base.last_sequence_number - planned_on.last_sequence_number:
            return None
        reason = "the process that committed it has ended, and snapshots since then have expired"
    else:
        reason = "the process that committed it has ended, and the table was dropped and made anew"
    raise CommitStateUnknown("COMMIT_STATE_UNKNOWN", name=name, reason=reason, commit_id=token)


def require_files(action: Action, context: CommitContext) -> None:
    """`ValidationConflict` where files that the action adds are gone: who it was handed to has refused it, and died."""
    assert isinstance(action, _ROW_CHANGES)
    added = added_files(action)
    if not all(context.io.exists(file.file_path) for file in added):
        reason = "the process that was to commit it has refused it, and has ended"
        raise ValidationConflict("CONCURRENT_CHANGE", name=context.name, reason=reason)


def added_files(action: RowChange) -> tuple[ContentFile, ...]:
    """The files that a change brings into the table."""
    match action:
        case AppendFiles(files=files):
            return tuple(files)
        case RowDelta(data_files=data, delete_files=deletes):
            return (*data, *deletes)
        case OverwriteFiles(added=added):
            return tuple(added)
        case OverwriteRows(added=added, delete_files=deletes):
            return (*added, *deletes)


def abandon_member(catalog: Catalog, identifier: TableIdentifier, member: Member, rng: random.Random) -> None:
    """Deletes the files of a member that no group has taken; not of one that another process may have landed."""
    if member.may_have_landed:
        return
    name = CatalogNames(catalog.name).table(identifier)
    context = CommitContext(name, member.commit_id, catalog.io, _no_time, rng, ManifestCache(0), _no_base)
    member.action.begin(context).abandon()


def _no_time() -> int:
    return 0


def _no_base(base: TableMetadata) -> bool:
    return False


@dataclass(slots=True)
class _Production:
    """What makes one snapshot of one or more members; `change` is None where the last attempt has not staged it."""

    members: tuple[int, ...]
    commit_id: str
    staging: Staging
    appended: AppendedFiles
    change: StagedChange | None = None


@dataclass(slots=True)
class _Group:
    """The members as one action, and as its staging. Members are known by their number."""

    members: Sequence[Member]
    small: SmallFiles | None = None
    _context: CommitContext | None = None
    _productions: dict[tuple[int, ...], _Production] = field(default_factory=dict)
    _failures: dict[int, Exception] = field(default_factory=dict)
    _found: dict[int, Snapshot] = field(default_factory=dict)

    def begin(self, context: CommitContext) -> Staging:
        self._context = context
        return self

    # staging

    def stage(self, base: TableMetadata | None) -> StagedChange:
        """The change of all members that `base`, with the changes of those before them, admits."""
        if base is None:
            raise ValueError("a group of changes needs a table")
        self._failures.clear()
        for production in self._productions.values():
            production.change = None
        staged: list[_Production] = []
        current = base
        appends: dict[object, list[int]] = {}
        for number, member in enumerate(self.members):
            if member.may_have_landed and self._is_settled(number, base):
                continue
            if _is_plain_append(member):
                appends.setdefault(_kind(member), []).append(number)
            else:
                current = self._staged((number,), base, current, staged)
        for numbers in appends.values():
            admitted = tuple(number for number in numbers if self._admits(number, current))
            if admitted:
                current = self._staged(admitted, base, current, staged)
        if not staged:
            return StagedChange(base, (), (AssertTableUUID(base.table_uuid),))
        first, last = staged[0].change, staged[-1].change
        assert first is not None
        assert last is not None
        return replace(last, requirements=first.requirements)

    def _is_settled(self, number: int, base: TableMetadata) -> bool:
        """Whether a member that may have landed before has, or cannot any more; who it was handed to has died, so what
        `base` does not show can only come behind an older version than `base`, and never will."""
        assert self._context is not None
        self._found.pop(number, None)
        member = self.members[number]
        try:
            found = landed_before(member, base, self._context.name)
            if found is not None:
                self._found[number] = found
                return True
            require_files(member.action, self._context)
        except SqlextError as error:
            self._failures[number] = error
            return True
        return False

    def _staged(
        self, numbers: tuple[int, ...], base: TableMetadata, current: TableMetadata, staged: list[_Production]
    ) -> TableMetadata:
        """The metadata with the change of those members, or as they were where they have failed."""
        assert self._context is not None
        try:
            production = self._production(numbers, current)
            if len(numbers) == 1:
                require_same_table(self.members[numbers[0]].base.metadata, current, self._context.name)
            change = expired_base.staged(production.staging, current, base=base, context=self._context)
            for requirement in change.requirements:
                requirement.check(current)
        except BaseHasExpired:
            raise
        except Exception as error:
            self._failures.update(dict.fromkeys(numbers, self._as_of_table(error)))
            return current
        production.change = change
        staged.append(production)
        return apply_updates(change.start, change.updates, now_ms=self._context.clock())

    def _production(self, numbers: tuple[int, ...], current: TableMetadata) -> _Production:
        """The one of earlier attempts, so that files and manifests are written once."""
        if numbers not in self._productions:
            assert self._context is not None
            first = self.members[numbers[0]]
            action, planned_on, appended = first.action, first.base.metadata, AppendedFiles(())
            if isinstance(action, AppendFiles) and _is_plain_append(first):
                appended = self._appended(numbers, current)
                # Not its own, as a member that fails takes its files along, and no others.
                action = AppendFiles(appended.files, action.summary_properties, owned=False)
            context = replace(
                self._context,
                commit_id=first.commit_id,
                destination=self._destination(numbers),
                planned_on=planned_on,
                owns_files=not first.may_have_landed,
            )
            self._productions[numbers] = _Production(numbers, first.commit_id, action.begin(context), appended)
        return self._productions[numbers]

    def _appended(self, numbers: tuple[int, ...], current: TableMetadata) -> AppendedFiles:
        """All files of several appends, the small ones merged but for those that another process may have landed."""
        assert self._context is not None
        files: list[ContentFile] = []
        own: list[str] = []
        for member in (self.members[number] for number in numbers):
            assert isinstance(member.action, AppendFiles)
            files += member.action.files
            own += [file.file_path for file in member.action.files if not member.may_have_landed]
        if self.small is None:
            return AppendedFiles(tuple(files))
        return merged(self.small, self._context, current, files, own)

    def _destination(self, numbers: tuple[int, ...]) -> Destination:
        """That of the members, with the tokens of those of other processes in the snapshot's summary."""
        destination = self.members[numbers[0]].destination
        tokens = [token for number in numbers if (token := self.members[number].token) is not None]
        if not tokens:
            return destination
        return replace(destination, summary=(*destination.summary, (TOKENS_PROPERTY, " ".join(tokens))))

    def _admits(self, number: int, current: TableMetadata) -> bool:
        """Whether the table still is what the rows of a plain append were written for."""
        assert self._context is not None
        planned_on = self.members[number].base.metadata
        try:
            require_same_table(planned_on, current, self._context.name)
            if row_rule_properties(planned_on.properties) != row_rule_properties(current.properties):
                reason = "another statement changed the constraints of the table"
                raise ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason)
        except SqlextError as error:
            self._failures[number] = error
            return False
        return True

    def _as_of_table(self, error: Exception) -> Exception:
        """A folder for new files is only ever missing when the table has been dropped."""
        assert self._context is not None
        if isinstance(error, FileNotFoundError):
            return NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=self._context.name)
        return error

    # the end

    def finish(self, landed: Snapshot | None) -> None:
        assert self._context is not None
        for production in self._productions.values():
            if production.change is not None:
                production.staging.finish(production.change.snapshot)
                production.appended.keep_written(self._context)
        self._abandon_failed()

    def abandon(self) -> None:
        self._abandon(self._productions.values())
        self._delete_appended(range(len(self.members)))

    def _abandon(self, productions: Iterable[_Production]) -> None:
        assert self._context is not None
        for production in productions:
            production.staging.abandon()
            production.appended.take_back(self._context)

    def _abandon_failed(self) -> None:
        self._abandon(one for one in self._productions.values() if one.change is None)
        self._delete_appended(self._failures)

    def _delete_appended(self, numbers: Sequence[int] | dict[int, Exception]) -> None:
        assert self._context is not None
        for number in numbers:
            member, action = self.members[number], self.members[number].action
            if _is_plain_append(member) and isinstance(action, AppendFiles) and not member.may_have_landed:
                delete_files(self._context.io, [file.file_path for file in action.files])

    def verdicts(self, outcome: CommitOutcome | Exception) -> list[Verdict]:
        """What became of each member, when the commit of all ended so."""
        if isinstance(outcome, CommitStateUnknown):
            self._abandon_failed()
        of_member = {number: one for one in self._productions.values() if one.change for number in one.members}
        verdicts: list[Verdict] = []
        for number in range(len(self.members)):
            if number in self._failures:
                verdicts.append(_copied(self._failures[number]))
            elif number in self._found and isinstance(outcome, CommitOutcome):
                verdicts.append(replace(outcome, snapshot=self._found[number]))
            elif isinstance(outcome, CommitOutcome):
                change = of_member[number].change
                assert change is not None
                verdicts.append(replace(outcome, snapshot=change.snapshot))
            elif isinstance(outcome, CommitStateUnknown):
                staged = of_member.get(number)
                commit_id = self.members[number].token if staged is None else staged.commit_id
                parameters: dict[str, Any] = {**outcome.parameters, "commit_id": commit_id}
                verdicts.append(CommitStateUnknown(outcome.condition, **parameters))
            else:
                verdicts.append(_copied(outcome))
        return verdicts


def _is_plain_append(member: Member) -> bool:
    """Whether it reads nothing and needs no snapshot of its own. Files that are not its own are those of an import,
    which tells what its snapshot added."""
    action = member.action
    if not isinstance(action, AppendFiles):
        return False
    return action.owned and bool(action.files) and member.destination.wap_id is None


def _kind(member: Member) -> object:
    """Appends of one kind make one snapshot: they go to one branch, and say the same in its summary."""
    action = member.action
    assert isinstance(action, AppendFiles)
    return member.destination, tuple(sorted(action.summary_properties.items()))


def _copied(error: Exception) -> Exception:
    """A copy of the error for another thread: each raises one of its own."""
    if isinstance(error, ValidationConflict):
        return error.as_kind(type(error))
    return type(error)(error.condition, **error.parameters) if isinstance(error, SqlextError) else error
