"""What is said of a procedure that is not there."""

from __future__ import annotations

import re

import pytest

from sqlext.errors import NotFoundError
from sqlext.procedure.registry import PROCEDURES, find_procedure

# The procedures of Iceberg 1.12 (SparkProcedures) and Paimon 1.3 (SparkProcedures) that sqlext lacks.
ELSEWHERE = (
    "compact_database", "compact_manifest", "create_tag", "create_tag_from_timestamp",
    "delete_tag", "expire_tags", "replace_tag", "rename_tag", "rollback", "rollback_to_watermark", "create_branch",
    "delete_branch", "rename_branch", "migrate_table", "migrate_database", "repair", "purge_files",
    "mark_partition_done", "clear_consumers", "trigger_tag_automatic_creation",
    "alter_view_dialect",
)  # fmt: skip


def way_out(name: str) -> str:
    with pytest.raises(NotFoundError) as caught:
        find_procedure("lake", name)
    assert caught.value.condition == "PROCEDURE_NOT_FOUND"
    return str(caught.value.parameters["way_out"])


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_procedure_of_another_system_leads_to_none_that_does_something_else(name: str) -> None:
    """A slip's correction would be a guess: what is named has to do the same, or nothing is named."""
    assert "Did you mean" not in way_out(name)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_named_instead_is_there(name: str) -> None:
    for called in re.findall(r"CALL lake\.system\.(\w+)", way_out(name)):
        assert called in PROCEDURES


@pytest.mark.parametrize("known", sorted(PROCEDURES))
def test_a_slip_is_corrected(known: str) -> None:
    if len(known) > 6:
        assert f"CALL lake.system.{known}(" in way_out(known[:-2] + known[-1])
