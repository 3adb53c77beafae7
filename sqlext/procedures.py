"""What `CALL` runs, as functions: `expire_snapshots(spark, "lake.db.t", retain_last=5)`.

Each function calls the procedure of its name with its parameters, runs at once, and returns the rows as a DataFrame. A
parameter that is None is not given. Tables are named as in SQL, with backticks where a part needs them. The procedure
is that of the catalog which `catalog` names, else of the catalog of sqlext that the table's name begins with, else of
the session's current one. A `datetime` without a time zone is in the zone of the Python process, as everywhere in
PySpark. Values are passed as parameters of the statement, never as its text. docs/sql.md tells more of each procedure.

    >>> from datetime import datetime, timedelta
    >>> sqlext.procedures.ancestors_of(spark, "lake.db.orders").count() > 2
    True
    >>> week = datetime.now() - timedelta(days=7)
    >>> expired = sqlext.procedures.expire_snapshots(spark, "lake.db.orders", older_than=week, retain_last=5)
    >>> expired.first().deleted_data_files_count
    0

The functions need no package but PySpark, so they also run in a client of Spark Connect. They raise PySpark's
exceptions, whose `getCondition()` is sqlext's condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from sqlext.procedure_call import call

__all__ = [
    "add_files",
    "ancestors_of",
    "care_status",
    "cherrypick_snapshot",
    "compact",
    "compute_partition_stats",
    "compute_table_stats",
    "consumers",
    "convert_equality_deletes",
    "create_changelog_view",
    "describe_table",
    "drop_consumer",
    "dropped_tables",
    "expire_partitions",
    "expire_snapshots",
    "fast_forward",
    "fsck",
    "health",
    "merge_branch",
    "migrate",
    "optimize_all",
    "publish_changes",
    "register_table",
    "remove_expired_changelogs",
    "remove_orphan_files",
    "rescale",
    "reset_consumer",
    "rewrite_data_files",
    "rewrite_manifests",
    "rewrite_position_delete_files",
    "rewrite_table_path",
    "rollback_to_snapshot",
    "rollback_to_timestamp",
    "set_current_snapshot",
    "snapshot",
    "undo",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def add_files(
    spark: SparkSession,
    table: str,
    source_table: str,
    partition_filter: Mapping[str, str] | None = None,
    check_duplicate_files: bool | None = None,
    parallelism: int | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Adds data files to a table in one commit, without moving them.

    `source_table` is a folder or file, as in ``"`parquet`.`/path`"``, or a table of Spark's session catalog;
    `partition_filter` selects folders by the values in their names. Files that the table has already are refused unless
    `check_duplicate_files` is False.

    Columns: `added_files_count`, `changed_partition_count`.
    """
    return call(
        spark,
        "add_files",
        catalog,
        table=table,
        source_table=source_table,
        partition_filter=partition_filter,
        check_duplicate_files=check_duplicate_files,
        parallelism=parallelism,
    )


def ancestors_of(
    spark: SparkSession, table: str, snapshot_id: int | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Lists a snapshot, by default main's current one, and its ancestors, the newest first. `timestamp` is in
    milliseconds since 1970.

    Columns: `snapshot_id`, `timestamp`.
    """
    return call(spark, "ancestors_of", catalog, table=table, snapshot_id=snapshot_id)


def care_status(spark: SparkSession, table: str | None = None, *, catalog: str | None = None) -> DataFrame:
    """Lists what the process does in the background for tables that look after themselves: of one table, or of all of
    the catalog.

    Columns: `table`, `task`, `state`, `asked_at`, `begun_at`, `ended_at`, `result`.
    """
    return call(spark, "care_status", catalog, table=table)


def cherrypick_snapshot(spark: SparkSession, table: str, snapshot_id: int, *, catalog: str | None = None) -> DataFrame:
    """Commits the changes of a snapshot to main: an append, an overwrite of partitions, or the child of main's head.

    Columns: `source_snapshot_id`, `current_snapshot_id`.
    """
    return call(spark, "cherrypick_snapshot", catalog, table=table, snapshot_id=snapshot_id)


def compact(
    spark: SparkSession,
    table: str,
    where: str | None = None,
    full: bool | None = None,
    branch: str | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Merges small files and sorted runs, and files with many deleted rows, by the table's properties.

    `where` is a condition in SQL on partitions, `full` merges all that can be merged, `branch` is by default main.

    Columns: `compacted_buckets_count`, `rewritten_data_files_count`, `added_data_files_count`, `rewritten_bytes_count`,
    `failed_buckets_count`.
    """
    return call(spark, "compact", catalog, table=table, where=where, full=full, branch=branch)


def compute_partition_stats(
    spark: SparkSession, table: str, snapshot_id: int | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Lists the rows, files and bytes of each partition in a statistics file, for other engines.

    Columns: `partition_statistics_file`.
    """
    return call(spark, "compute_partition_stats", catalog, table=table, snapshot_id=snapshot_id)


def compute_table_stats(
    spark: SparkSession,
    table: str,
    snapshot_id: int | None = None,
    columns: Sequence[str] | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Counts the distinct values of columns, by default of all, in a statistics file for optimisers.

    Columns: `statistics_file`.
    """
    return call(spark, "compute_table_stats", catalog, table=table, snapshot_id=snapshot_id, columns=columns)


def consumers(spark: SparkSession, table: str, *, catalog: str | None = None) -> DataFrame:
    """Lists the named consumers of a table's streams, with the snapshots that they have consumed.

    Columns: `consumer_id`, `snapshot_id`, `branch`, `updated_at`, `expired`, `query`, `unread_snapshots`.
    """
    return call(spark, "consumers", catalog, table=table)


def convert_equality_deletes(
    spark: SparkSession, table: str, branch: str | None = None, where: str | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Replaces equality deletes by deletes by position, which readers apply without a join.

    `where` is a condition in SQL that chooses the rows whose deletes are converted.

    Columns: `converted_delete_files_count`, `added_delete_files_count`, `dropped_delete_files_count`.
    """
    return call(spark, "convert_equality_deletes", catalog, table=table, branch=branch, where=where)


def create_changelog_view(
    spark: SparkSession,
    table: str,
    changelog_view: str | None = None,
    options: Mapping[str, str] | None = None,
    compute_updates: bool | None = None,
    identifier_columns: Sequence[str] | None = None,
    net_changes: bool | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Makes a temporary view of the changes between two snapshots, by default `<table>_changes`.

    `options` may have the bounds `start-snapshot-id` (exclusive) or `start-timestamp`, and `end-snapshot-id`
    (inclusive) or `end-timestamp`, in milliseconds since 1970. Updates are shown as such with `compute_updates`, by
    `identifier_columns` or the primary key; with `net_changes`, equal rows that were inserted and deleted cancel out.

    Columns: `changelog_view`.
    """
    return call(
        spark,
        "create_changelog_view",
        catalog,
        table=table,
        changelog_view=changelog_view,
        options=options,
        compute_updates=compute_updates,
        identifier_columns=identifier_columns,
        net_changes=net_changes,
    )


def describe_table(
    spark: SparkSession, table: str, commits: int | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Tells as JSON what `sqlext.table` shows of a table, with that many of its newest commits.

    Columns: `description`.
    """
    return call(spark, "describe_table", catalog, table=table, commits=commits)


def drop_consumer(spark: SparkSession, table: str, consumer_id: str, *, catalog: str | None = None) -> DataFrame:
    """Removes a named consumer and the tag that keeps its snapshot.

    Columns: `consumer_id`, `snapshot_id`, `branch`, `updated_at`, `expired`, `query`, `unread_snapshots`.
    """
    return call(spark, "drop_consumer", catalog, table=table, consumer_id=consumer_id)


def dropped_tables(spark: SparkSession, namespace: str, *, catalog: str | None = None) -> DataFrame:
    """Lists the tables of a namespace that `UNDROP TABLE` can restore, the newest first.

    Columns: `table_name`, `dropped_at`.
    """
    return call(spark, "dropped_tables", catalog, namespace=namespace)


def expire_partitions(
    spark: SparkSession,
    table: str,
    expiration_time: str | timedelta | None = None,
    timestamp_formatter: str | None = None,
    timestamp_pattern: str | None = None,
    expire_strategy: str | None = None,
    max_expires: int | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Removes partitions whose time is longer ago than `expiration_time`, such as "7 d" or timedelta(days=7).

    Each argument stands for the table's property `partition.…` of that name, which holds by default.

    Columns: `expired_partitions`.
    """
    return call(
        spark,
        "expire_partitions",
        catalog,
        table=table,
        expiration_time=expiration_time,
        timestamp_formatter=timestamp_formatter,
        timestamp_pattern=timestamp_pattern,
        expire_strategy=expire_strategy,
        max_expires=max_expires,
    )


def expire_snapshots(
    spark: SparkSession,
    table: str,
    older_than: datetime | None = None,
    retain_last: int | None = None,
    max_concurrent_deletes: int | None = None,
    stream_results: bool | None = None,
    snapshot_ids: Sequence[int] | None = None,
    clean_expired_metadata: bool | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Removes old snapshots, branches and tags, and the files that only they needed.

    Of each branch the newest `retain_last` snapshots stay, and those that are not older than `older_than`; by default
    the table's properties `history.expire.*` say how many and how old. `snapshot_ids` expire whatever their age.
    `clean_expired_metadata` also removes schemas and partition specs that no snapshot uses any more. `stream_results`
    has no effect.

    Columns: `deleted_data_files_count`, `deleted_position_delete_files_count`, `deleted_equality_delete_files_count`,
    `deleted_manifest_files_count`, `deleted_manifest_lists_count`, `deleted_statistics_files_count`.
    """
    return call(
        spark,
        "expire_snapshots",
        catalog,
        table=table,
        older_than=older_than,
        retain_last=retain_last,
        max_concurrent_deletes=max_concurrent_deletes,
        stream_results=stream_results,
        snapshot_ids=snapshot_ids,
        clean_expired_metadata=clean_expired_metadata,
    )


def fast_forward(spark: SparkSession, table: str, branch: str, to: str, *, catalog: str | None = None) -> DataFrame:
    """Moves a branch to the head of another one that has all its snapshots.

    Columns: `branch_updated`, `previous_ref`, `updated_ref`.
    """
    return call(spark, "fast_forward", catalog, table=table, branch=branch, to=to)


def fsck(
    spark: SparkSession,
    table: str | None = None,
    repair: bool | str | None = None,
    check: str | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Says what is wrong with a table, or with all tables of the catalog: a row for each thing; a healthy table has
    none.

    `check="files"` also opens the data files. `repair=True` mends what can be mended, `repair="files"` makes a new
    table of the data files of one whose metadata is gone.

    Columns: `table`, `snapshot_id`, `object`, `check`, `severity`, `found`, `expected`, `repair`.
    """
    return call(spark, "fsck", catalog, table=table, repair=repair, check=check)


def health(spark: SparkSession, table: str, *, catalog: str | None = None) -> DataFrame:
    """Says what a table consists of, and what care would do now. `bytes` are those of the files, as far as known.

    Columns: `measure`, `value`, `bytes`, `about`.
    """
    return call(spark, "health", catalog, table=table)


def merge_branch(
    spark: SparkSession,
    table: str,
    branch: str,
    into: str | None = None,
    conflict: str | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Merges what a branch changed since it began or was last merged into another one, by default main, by key.

    Of keys whose rows both changed, `conflict` is "refuse" (default), "report", which commits nothing, or "ours" or
    "theirs", which keeps the row of `into` or of `branch`.

    Columns: `merged_rows_count`, `conflicting_rows_count`, `conflicts`.
    """
    return call(spark, "merge_branch", catalog, table=table, branch=branch, into=into, conflict=conflict)


def migrate(
    spark: SparkSession,
    table: str,
    properties: Mapping[str, str] | None = None,
    parallelism: int | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Converts a folder of data files at the table's default location to the table, which then owns them.

    Columns: `migrated_files_count`.
    """
    return call(spark, "migrate", catalog, table=table, properties=properties, parallelism=parallelism)


def optimize_all(
    spark: SparkSession, budget_seconds: int | None = None, plan_only: bool | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Does what is due for all tables of the catalog, the best first, within `budget_seconds`.

    With `plan_only` it only says what it would do.

    Columns: `table`, `task`, `state`, `saved_files`, `estimated_ms`, `took_ms`, `result`.
    """
    return call(spark, "optimize_all", catalog, budget_seconds=budget_seconds, plan_only=plan_only)


def publish_changes(spark: SparkSession, table: str, wap_id: str, *, catalog: str | None = None) -> DataFrame:
    """Commits to main the snapshot that was staged under a `wap_id`.

    Columns: `source_snapshot_id`, `current_snapshot_id`.
    """
    return call(spark, "publish_changes", catalog, table=table, wap_id=wap_id)


def register_table(spark: SparkSession, table: str, metadata_file: str, *, catalog: str | None = None) -> DataFrame:
    """Creates a table from a metadata file, as of another catalog.

    Columns: `current_snapshot_id`, `total_records_count`, `total_data_files_count`.
    """
    return call(spark, "register_table", catalog, table=table, metadata_file=metadata_file)


def remove_expired_changelogs(spark: SparkSession, table: str, *, catalog: str | None = None) -> DataFrame:
    """Deletes stored changelogs of snapshots that other engines have expired.

    Columns: `removed_files_count`.
    """
    return call(spark, "remove_expired_changelogs", catalog, table=table)


def remove_orphan_files(
    spark: SparkSession,
    table: str,
    older_than: datetime | None = None,
    location: str | None = None,
    dry_run: bool | None = None,
    max_concurrent_deletes: int | None = None,
    file_list_view: str | None = None,
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    prefix_mismatch_mode: str | None = None,
    prefix_listing: bool | None = None,
    stream_results: bool | None = None,
    force: bool | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Finds files that no version of the table needs; with `dry_run=False` it removes them.

    Files must be older than `older_than`, by default three days, and to be removed at least a day, unless `force` is
    set. `file_list_view` names a view of `file_path` and `last_modified` to look at in place of a listing.
    `equal_schemes`, `equal_authorities` and `prefix_mismatch_mode` ("ERROR", "IGNORE", "DELETE") are for locations that
    are spelled otherwise. `prefix_listing` and `stream_results` have no effect.

    Columns: `orphan_file_location`.
    """
    return call(
        spark,
        "remove_orphan_files",
        catalog,
        table=table,
        older_than=older_than,
        location=location,
        dry_run=dry_run,
        max_concurrent_deletes=max_concurrent_deletes,
        file_list_view=file_list_view,
        equal_schemes=equal_schemes,
        equal_authorities=equal_authorities,
        prefix_mismatch_mode=prefix_mismatch_mode,
        prefix_listing=prefix_listing,
        stream_results=stream_results,
        force=force,
    )


def rescale(
    spark: SparkSession, table: str, bucket_num: int, bucket_key: str | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Changes the number of buckets of a table, and moves its rows.

    Columns: `compacted_buckets_count`, `rewritten_data_files_count`, `added_data_files_count`, `rewritten_bytes_count`,
    `failed_buckets_count`.
    """
    return call(spark, "rescale", catalog, table=table, bucket_num=bucket_num, bucket_key=bucket_key)


def reset_consumer(
    spark: SparkSession, table: str, consumer_id: str, snapshot_id: int | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Sets where new queries of a named consumer begin: after a snapshot, by default the newest.

    Columns: `consumer_id`, `snapshot_id`, `branch`, `updated_at`, `expired`, `query`, `unread_snapshots`.
    """
    return call(spark, "reset_consumer", catalog, table=table, consumer_id=consumer_id, snapshot_id=snapshot_id)


def rewrite_data_files(
    spark: SparkSession,
    table: str,
    strategy: str | None = None,
    sort_order: str | None = None,
    options: Mapping[str, str] | None = None,
    where: str | None = None,
    branch: str | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Makes few data files of many, without deleted rows, as they are or in an order.

    `strategy` is "binpack" or "sort", `sort_order` a text such as "id DESC NULLS LAST" or "zorder(a, b)", `where` a
    condition in SQL; `options` are Iceberg's.

    Columns: `rewritten_data_files_count`, `added_data_files_count`, `rewritten_bytes_count`, `failed_data_files_count`,
    `removed_delete_files_count`.
    """
    return call(
        spark,
        "rewrite_data_files",
        catalog,
        table=table,
        strategy=strategy,
        sort_order=sort_order,
        options=options,
        where=where,
        branch=branch,
    )


def rewrite_manifests(
    spark: SparkSession,
    table: str,
    use_caching: bool | None = None,
    spec_id: int | None = None,
    sort_by: Sequence[str] | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Makes few manifests of many, sorted by partition, or by the partition fields `sort_by`. `use_caching` has no
    effect.

    Columns: `rewritten_manifests_count`, `added_manifests_count`.
    """
    return call(
        spark, "rewrite_manifests", catalog, table=table, use_caching=use_caching, spec_id=spec_id, sort_by=sort_by
    )


def rewrite_position_delete_files(
    spark: SparkSession,
    table: str,
    options: Mapping[str, str] | None = None,
    where: str | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Makes few position-delete files of many, without those that delete nothing.

    Columns: `rewritten_delete_files_count`, `added_delete_files_count`, `rewritten_bytes_count`, `added_bytes_count`.
    """
    return call(spark, "rewrite_position_delete_files", catalog, table=table, options=options, where=where)


def rewrite_table_path(
    spark: SparkSession,
    table: str,
    source_prefix: str,
    target_prefix: str,
    start_version: str | None = None,
    end_version: str | None = None,
    staging_location: str | None = None,
    create_file_list: bool | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Prepares the copy of a table to another place: its metadata as of `target_prefix`, and the list of files to copy.

    `start_version` and `end_version` are names of metadata files, `staging_location` is the folder of what is
    rewritten.

    Columns: `latest_version`, `file_list_location`, `rewritten_manifest_file_paths_count`,
    `rewritten_delete_file_paths_count`.
    """
    return call(
        spark,
        "rewrite_table_path",
        catalog,
        table=table,
        source_prefix=source_prefix,
        target_prefix=target_prefix,
        start_version=start_version,
        end_version=end_version,
        staging_location=staging_location,
        create_file_list=create_file_list,
    )


def rollback_to_snapshot(spark: SparkSession, table: str, snapshot_id: int, *, catalog: str | None = None) -> DataFrame:
    """Moves main to an ancestor of its head.

    Columns: `previous_snapshot_id`, `current_snapshot_id`.
    """
    return call(spark, "rollback_to_snapshot", catalog, table=table, snapshot_id=snapshot_id)


def rollback_to_timestamp(
    spark: SparkSession, table: str, timestamp: datetime, *, catalog: str | None = None
) -> DataFrame:
    """Moves main to its newest snapshot before a time.

    Columns: `previous_snapshot_id`, `current_snapshot_id`.
    """
    return call(spark, "rollback_to_timestamp", catalog, table=table, timestamp=timestamp)


def set_current_snapshot(
    spark: SparkSession,
    table: str,
    snapshot_id: int | None = None,
    ref: str | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Moves main to any snapshot, branch or tag: give either `snapshot_id` or `ref`.

    Columns: `previous_snapshot_id`, `current_snapshot_id`.
    """
    return call(spark, "set_current_snapshot", catalog, table=table, snapshot_id=snapshot_id, ref=ref)


def snapshot(
    spark: SparkSession,
    source_table: str,
    table: str,
    location: str | None = None,
    properties: Mapping[str, str] | None = None,
    parallelism: int | None = None,
    *,
    catalog: str | None = None,
) -> DataFrame:
    """Creates a table over the files of a source, which keeps them.

    `source_table` is a folder, as in ``"`parquet`.`/path`"``, or a table of Spark's session catalog.

    Columns: `imported_files_count`.
    """
    return call(
        spark,
        "snapshot",
        catalog,
        source_table=source_table,
        table=table,
        location=location,
        properties=properties,
        parallelism=parallelism,
    )


def undo(
    spark: SparkSession, table: str, snapshot_id: int, dry_run: bool | None = None, *, catalog: str | None = None
) -> DataFrame:
    """Reverses the changes of rows of one snapshot, whatever was committed since, or names the rows in the way.

    With `dry_run` nothing is committed.

    Columns: `previous_snapshot_id`, `current_snapshot_id`, `deleted_rows`, `restored_rows`.
    """
    return call(spark, "undo", catalog, table=table, snapshot_id=snapshot_id, dry_run=dry_run)
