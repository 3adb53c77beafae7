"""Suggestions for misspelt names; none is better than one with another effect."""

from __future__ import annotations

import pytest

from sqlext.procedure.registry import PROCEDURES
from sqlext.spark.catalog.frame_options import known_write_options
from sqlext.spec.name_suggestion import nearest, suggestion

READS = ("branch", "tag", "snapshot-id", "as-of-timestamp", "split-size", "file-open-cost", "versionasof", "locality")
# Without second names of options.
WRITES = tuple(sorted(known_write_options() - {"mergeschema", "txnappid", "txnversion"}))


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("tga", READS, "tag"),
        ("TAG_", READS, "tag"),
        ("snapshot_id", READS, "snapshot-id"),
        ("snapshotId", READS, "snapshot-id"),
        ("scan.snapshot-id", READS, "snapshot-id"),
        ("brunch", READS, "branch"),
        ("as-of-timestmap", READS, "as-of-timestamp"),
        ("scan.mode", READS, None),
        ("nope", READS, None),
        ("path", READS, None),
        ("id", READS, None),
        ("snapshot", READS, None),
        ("timestamp", READS, None),
        ("start-snapshot", READS, None),
        ("tag", WRITES, None),
        ("path", WRITES, None),
        ("mode", WRITES, None),
        ("format", WRITES, None),
        ("overwrite", WRITES, None),
        ("merge_schema", WRITES, "merge-schema"),
        ("mergeSchemas", WRITES, "merge-schema"),
        ("upsert-enable", WRITES, "upsert-enabled"),
        ("upsert_enabled", WRITES, "upsert-enabled"),
        ("write.upsert.enabled", WRITES, "upsert-enabled"),
        ("target-file-size", WRITES, "target-file-size-bytes"),
        ("write-paralelism", WRITES, "write-parallelism"),
        ("", WRITES, None),
    ],
)
def test_what_was_meant(name: str, known: tuple[str, ...], meant: str | None) -> None:
    assert nearest(name, known) == meant
    assert suggestion(name, known, "None.") == (f"Did you mean {meant}?" if meant else "None.")


@pytest.mark.parametrize("known", [READS, WRITES, tuple(PROCEDURES)])
def test_a_name_that_is_there_is_its_own_nearest(known: tuple[str, ...]) -> None:
    assert [nearest(name, known) for name in known] == list(known)
