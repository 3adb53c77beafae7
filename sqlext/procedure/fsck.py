"""fsck: what is wrong with a table or with all tables of a catalog, and its repair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.catalog.catalog import all_tables, all_views
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spark.catalog.time_travel import NamedPlace, readings
from sqlext.spark.query.cached_tables import renew_caches
from sqlext.spec.field_path import path_text


def fsck(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """A row for each thing that is wrong; none of a healthy table. Raises as `consult`."""
    arguments = invocation.arguments
    repairing, data_files = _repairing(arguments["repair"]), _reads_data_files(arguments["check"])
    if arguments["table"] is not None:
        identifiers: Sequence[TableIdentifier] = [_named(invocation, arguments["table"])]
    else:
        if repairing == Repairing.FROM_FILES:
            raise FSCK.refused("repair => 'files' needs a table")
        catalog = invocation.environment.catalogs.catalog(invocation.catalog)
        identifiers = [*all_tables(catalog), *all_views(catalog)]
    rows: list[Sequence[Any]] = []
    for identifier in identifiers:
        found = consult(invocation.environment, invocation.catalog, identifier, repairing, data_files=data_files)
        rows += [_row(identifier, one) for one in found]
        if repairing != Repairing.NOTHING and arguments["table"] is None:
            renew_caches(invocation.spark, (invocation.catalog, *identifier.namespace, identifier.name))
    return rows


def _named(invocation: Invocation, name: str) -> TableIdentifier:
    """Raises AnalysisError for a version or a metadata table of a table."""
    catalog = invocation.environment.catalogs.catalog(invocation.catalog)
    whole, *parts = readings(invocation.table_parts(name))
    identifier = _identifier(whole)
    if parts and not catalog.table_exists(identifier):
        for part in parts:
            if catalog.table_exists(_identifier(part)):
                table = path_text(part.parts)
                raise FSCK.refused(f"{name} is {part.part} of {table}, all of which fsck looks at: name that")
    return identifier


def _identifier(place: NamedPlace) -> TableIdentifier:
    return TableIdentifier(place.parts[1:-1], place.parts[-1])


def _row(identifier: TableIdentifier, answer: Answer) -> Sequence[Any]:
    one = answer.finding
    return (
        str(identifier),
        one.snapshot_id,
        one.path,
        one.check.value,
        one.severity.value,
        one.found,
        one.expected,
        answer.repair,
    )


def _repairing(text: str | None) -> Repairing:
    try:
        return Repairing((text or Repairing.NOTHING.value).lower())
    except ValueError:
        known = ", ".join(one.value for one in Repairing)
        raise FSCK.refused(f"repair is {text}, and none of {known}") from None


def _reads_data_files(text: str | None) -> bool:
    if text is not None and text.lower() not in ("metadata", "files"):
        raise FSCK.refused(f"check is {text}, and none of metadata, files")
    return text is not None and text.lower() == "files"


FSCK = Procedure(
    "fsck",
    (
        Parameter("table", "string", required=False),
        Parameter("repair", "string", required=False),
        Parameter("check", "string", required=False),
    ),
    (
        ("table", "string"),
        ("snapshot_id", "long"),
        ("object", "string"),
        ("check", "string"),
        ("severity", "string"),
        ("found", "string"),
        ("expected", "string"),
        ("repair", "string"),
    ),
    fsck,
)
