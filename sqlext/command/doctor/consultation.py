"""What fsck answers of a table: what is wrong, and what mends it or has been done about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.changelog_repair import remove_damaged_changelogs
from sqlext.command.doctor.examination import Examination, examine
from sqlext.command.doctor.remade_table import remade_table
from sqlext.command.doctor.repair import Repair, repair_branches, restore_metadata, turn_back_bits, turn_back_outcome
from sqlext.command.doctor.view_consultation import consult_view, restore_view
from sqlext.command.environment import Environment
from sqlext.errors import AnalysisError, NotFoundError, UnsupportedError
from sqlext.scan.checks.finding import Check, Finding, Severity

_RESTORE = "restore it from a backup"


_REPAIRS = frozenset({Repairing.DAMAGE, Repairing.FROM_FILES})


def consult(
    environment: Environment,
    catalog_name: str,
    identifier: TableIdentifier,
    repairing: Repairing,
    *,
    data_files: bool = False,
) -> Sequence[Answer]:
    """Examines a table or view, and repairs it as far as it may.

    Raises UnsupportedError NOT_IN_TRANSACTION; NotFoundError NO_TABLE_AT_LOCATION if the table is to be made of its
    files, and there are none; and as `examine`, `Catalog.replace_damaged`, `Catalog.owned_by` and `Environment.commit`.
    """
    if environment.catalogs.transaction is not None:
        # Its tables have no metadata files yet, and a repair is not taken back.
        raise UnsupportedError("NOT_IN_TRANSACTION", operation="CALL fsck")
    catalog = environment.catalogs.catalog(catalog_name)
    try:
        found = examine(catalog, identifier, data_files=data_files, each=environment.progress.each("check files"))
    except AnalysisError as refused:
        if refused.condition != "EXPECT_TABLE_NOT_VIEW":
            raise
        return consult_view(catalog, identifier, repairing)
    except NotFoundError as missing:
        if repairing != Repairing.FROM_FILES or missing.condition != "TABLE_OR_VIEW_NOT_FOUND":
            raise
        return [remade_table(environment, catalog, identifier, None)]
    if repairing not in _REPAIRS or not found.findings:
        way_out = _ways_out(found)
        return [Answer(one, way_out(one)) for one in found.findings]
    first, repairs = found, list[Repair]()
    if found.outcome is not None:
        return _answers(first, [turn_back_outcome(catalog, found.outcome)])
    bits = list(turn_back_bits(catalog, found))
    if bits:
        repairs += bits
        environment.scans.manifests.clear()
        if found.damaged is not None:
            # What else was found may follow from the damage; the file may also be a view's.
            damage = tuple(one for one in found.findings if one.path == found.damaged)
            answers = _answers(replace(found, findings=damage), repairs)
            return [*answers, *consult(environment, catalog_name, identifier, repairing, data_files=data_files)]
        found = examine(catalog, identifier)
    if found.damaged is not None:
        restored = restore_metadata(environment, catalog, identifier, found.damaged)
        if restored is None and (view := restore_view(catalog, identifier, found.damaged)) is not None:
            # Of a damaged file nothing tells that it is a view's but those before it.
            return _answers(first, [*repairs, Repair(found.damaged, view)])
        if restored is None and repairing == Repairing.FROM_FILES:
            made = remade_table(environment, catalog, identifier, found.damaged)
            return [*_answers(first, repairs), made]
        repairs.append(restored or _no_version(found.damaged))
        found = found if restored is None else examine(catalog, identifier)
    if found.table is not None:
        repairs += remove_damaged_changelogs(catalog, found)
        repairs += repair_branches(environment, catalog_name, found.table, found)
    return _answers(first, repairs)


def _no_version(damaged: str) -> Repair:
    return Repair(
        damaged, "not done: no earlier metadata file can be read; repair => 'files' makes a table of its files"
    )


def _answers(found: Examination, repairs: Iterable[Repair]) -> list[Answer]:
    """Each finding with the repair of its object, or else of the branch whose head has it."""
    by_path = {one.path: one.done for one in repairs if one.snapshot_id is None}
    by_snapshot = {one.snapshot_id: one.done for one in repairs if one.snapshot_id is not None}
    answers, told, way_out = [], set[int | None](), _ways_out(found)
    for finding in found.findings:
        done = by_path.get(finding.path)
        if done is None and finding.snapshot_id in by_snapshot:
            done = by_snapshot[finding.snapshot_id]
            told.add(finding.snapshot_id)
        answers.append(Answer(finding, done or way_out(finding)))
    # What only the metadata file before the repair could not say.
    for id, done in by_snapshot.items():
        if id not in told:
            answers.append(Answer(Finding(Check.HISTORY, "", "damage", "none", Severity.ERROR, id), done))
    return answers


def _ways_out(found: Examination) -> Callable[[Finding], str]:
    """A function that tells what mends a finding."""
    refs = {} if found.table is None else found.table.metadata.refs
    heads = frozenset(one.snapshot_id for one in refs.values() if one.type == "branch")
    return partial(_way_out, found.damaged, heads, frozenset(found.changelogs.findings))


def _way_out(damaged: str | None, heads: Collection[int], of_changelogs: Collection[Finding], finding: Finding) -> str:
    if finding.check == Check.POINTER:
        return "none needed: the next commit sets it"
    if finding.way_out:
        return finding.way_out
    if finding in of_changelogs:
        return "repair => true" if finding.severity == Severity.ERROR else "none needed: its changes are computed"
    if finding.path == damaged or finding.snapshot_id in heads:
        return "repair => true"
    if finding.snapshot_id is not None:
        return f"repair => true if one bit has changed, else {_RESTORE} or expire the snapshot"
    return f"repair => true if one bit has changed, else {_RESTORE}"
