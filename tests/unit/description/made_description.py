"""A description of a table with all that a description can have."""

from __future__ import annotations

from dataclasses import replace

from sqlext.description.table_facts import (
    CareTask,
    Check,
    Column,
    Commit,
    Contents,
    Description,
    Reference,
    Setting,
    SizeClass,
)

_FIRST = Commit(
    snapshot_id=3_051_729_675_574_597_004,
    parent_id=None,
    committed_at="2026-01-31T12:00:00.000Z",
    operation="append",
    what="added rows",
    by="sqlext 0.1.0",
    rows_in=120_000,
    rows_out=0,
    keys_out=0,
    files_in=4,
    files_out=0,
    rows=120_000,
    is_ancestor=True,
)
_OTHERS = (
    ("append", "added rows", "spark 4.1.0 (local-17)", 40_000, 0, 0, 160_000),
    ("overwrite", "changed rows", "sqlext 0.1.0", 9_000, 9_000, 0, 169_000),
    ("delete", "deleted rows", "sqlext 0.1.0", 0, 31_000, 0, 169_000),
    ("replace", "rewrote files, rows as they were", "sqlext 0.1.0", 129_000, 129_000, 0, 129_000),
    ("overwrite", "changed rows", "flink 2.1 (0f3a)", 15_000, 0, 15_000, 144_000),
    ("append", "added rows", "", None, None, 0, None),
)


def commits() -> tuple[Commit, ...]:
    """The newest first; one is on a branch."""
    made = [_FIRST]
    for number, (operation, what, by, came, went, keys, rows) in enumerate(_OTHERS, 1):
        made.append(
            replace(
                _FIRST,
                snapshot_id=_FIRST.snapshot_id + number,
                parent_id=_FIRST.snapshot_id + number - 1,
                committed_at=f"2026-02-{number:02}T08:30:00.000Z",
                operation=operation,
                what=what,
                by=by,
                rows_in=came,
                rows_out=went,
                keys_out=keys,
                rows=rows,
                references=("main",) if number == len(_OTHERS) else ("audit", "v1") if number == 3 else (),
                is_ancestor=number != 2,
            )
        )
    return tuple(reversed(made))


def description(name: str = "lake.shop.orders", text: str = "every order, once") -> Description:
    """`text` is in each place of the description that a user writes."""
    sizes = [(256, 1024, 3), (1024, 4096, 0), (4096, 16384, 12), (16384, 65536, 40), (65536, 262144, 7)]
    return Description(
        name=name,
        location="s3://bucket/warehouse/shop/orders",
        metadata_location="s3://bucket/warehouse/shop/orders/metadata/v8.metadata.json",
        uuid="f79c3e09-677c-4bbd-a479-3f349cb785e7",
        format_version=3,
        snapshot_id=commits()[0].snapshot_id,
        updated_at=commits()[0].committed_at,
        comment=text,
        columns=(
            Column("order_id", "BIGINT", in_key=True, required=True, comment=text),
            Column(text, "STRUCT<`a`: INT NOT NULL, `b`: ARRAY<STRING>>"),
            Column("status", "STRING", required=True, default=f"'{text}'"),
        ),
        key=("order_id", text),
        key_is_enforced=True,
        checks=(Check("positive", f"order_id > 0 AND status <> '{text}'"),),
        partitioned_by=("days(`day`)", "bucket(4, `order_id`)"),
        ordered_by=("`order_id` ASC NULLS FIRST",),
        settings=(Setting("write-only", "false", "it looks after itself"), Setting("users.own", text)),
        references=(Reference("main", "branch", 3), Reference(text, "branch", 2), Reference("v1", "tag", 1)),
        commits=commits(),
        commit_count=25,
        contents=Contents(
            data_files=62,
            bytes=3_200_000,
            stored_rows=144_000,
            dead_rows=31_000,
            dead_is_bound=True,
            deleted_keys=15_000,
            delete_files=5,
            partitions=8,
            manifests=9,
            sizes=tuple(SizeClass(least, below, files, files * least) for least, below, files in sizes),
        ),
        care=(
            CareTask("compaction that is due", 15, 190_000, "done after commits: makes 4 files of them"),
            CareTask("full compaction", 62, 3_200_000, "CALL compact(full => true): makes 8 files of them"),
            CareTask("manifests more than needed", 0, 70_000, "CALL rewrite_manifests"),
            CareTask("snapshots that have expired", 18, 900_000, f"CALL expire_snapshots: {text}"),
        ),
    )
