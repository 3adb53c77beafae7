"""Errors that tests end with, for conditions that neither a recorded statement nor a program without a JVM ends with.

Their messages are in `recorded_errors.json`, from which docs/errors.md is made. Each run compares those of its tests
(`tests/conftest.py`); `PYTHONPATH=.:tests python3 tests/error_page.py --record` runs the tests and writes them anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from golden.runner import DEFAULT_SPARK
from sqlext.errors import SqlextError

TOLD = Path(__file__).with_suffix(".json")
_RECORD = "PYTHONPATH=.:tests python3 tests/error_page.py --record"
RECORDING = "SQLEXT_RECORD_ERRORS"
"""The variable of the environment that has a run write the messages that it would compare."""

TESTS: Mapping[str, str] = {
    "ALTER_TABLE_NOT_SUPPORTED": "session/sessions/test_catalogs.py"
    "::test_changes_of_columns_that_a_program_of_the_jvm_asks_for_are_refused",
    "BATCH_RAN_BEFORE": "unit/commit/actions/test_batch_commit.py"
    "::test_of_two_runs_of_a_batch_the_second_leaves_no_file",
    "BATCH_UNREADABLE": 'unit/spec/metadata/test_idempotent_batch.py::test_what_is_no_record_is_refused[{"format": 2}]',
    "CATALOG_IS_OPEN": "unit/spark/catalog/test_session_catalogs.py::test_a_catalog_is_open_whole_or_not_at_all",
    "CATALOG_LOGIN_FAILED": "unit/catalog/rest/test_rest_catalog.py::test_credentials_that_are_not_accepted[403]",
    "CATALOG_NO_ANSWER": "unit/catalog/rest/test_rest_catalog.py::test_an_answer_that_is_no_json_is_none",
    "CHANGE_STATE_UNKNOWN": "unit/catalog/sql/test_database.py::test_a_commit_without_an_answer_deletes_nothing",
    "COMMIT_IN_PART": "unit/catalog/rest/test_delivery.py"
    "::test_a_commit_in_part_that_cannot_be_finished_says_what_is_where",
    "CONNECT_CLIENT": "session/sessions/test_connect_in_process.py::test_a_server_elsewhere_has_settings_of_its_own",
    "CONSUMER_IS_QUERY": "streaming/test_expiry_beside_streams.py::test_a_stream_that_ends_for_good_keeps_nothing",
    "CONSUMER_UNREADABLE": "unit/commit/actions/test_consumer.py::test_a_property_that_is_none_and_names_that_are_none",
    "CREATE_IF_ABSENT_UNSUPPORTED": "unit/storage/test_file_io.py::test_a_file_system_without_hard_links_is_refused",
    "DELETE_FILE_NOT_MOVED": "unit/write/test_moved_delete_file.py::test_those_of_other_formats_are_refused",
    "DRIVER_LACKS_PACKAGE": "unit/test_import.py::test_a_driver_without_a_package_is_told_which",
    "FOLDER_OF_TWO_TABLES": "unit/command/maintenance/test_orphan_files.py"
    "::test_a_table_with_the_same_metadata_folder_is_noticed",
    "FORMAT_VERSION_1_ROW_LEVEL": "unit/commit/snapshot/test_snapshot_production.py"
    "::test_a_table_of_format_1_takes_no_delete_files",
    "INTERNAL_ERROR": "unit/write/test_task.py::test_an_unforeseen_failure_is_an_error_message",
    "JAVA_NOT_FOUND": "unit/spark/shim/test_shim_jar.py::test_without_java",
    "METADATA_FILE_UNKNOWN": "unit/command/maintenance/test_orphan_files.py"
    "::test_the_metadata_of_a_table_must_be_known",
    "NOT_A_CHILD_OF_SPARK": "unit/test_serve.py::test_it_is_no_command_of_users",
    "NOT_READ_BY_SPARK_4_0": "unit/spark/bridge/test_refusals.py::test_what_spark_4_0_misreads[variant-VARIANT]",
    "OPERATION_CANCELED": "bad_input/test_stopped_process.py::test_ctrl_c_in_a_long_write",
    "PICTURES_NEED_PACKAGE": "session/sessions/test_shown_table.py::test_pictures_are_refused_without_matplotlib",
    "PREFIX_MISMATCH": "unit/command/maintenance/test_orphan_files.py::test_prefixes_that_differ_are_an_error",
    "PYSPARK_DIFFERS": "unit/test_serve.py::test_a_python_with_another_pyspark",
    "RESERVED_COLUMN_IN_TABLE": "unit/command/change/test_row_level.py"
    "::test_a_column_of_a_reserved_name_is_not_written_over",
    "ROWS_NEED_SPARK": "unit/terminal/test_app.py::test_rows_that_spark_alone_reads_are_refused",
    "ROW_KIND_IN_TABLE": "unit/command/upsert/test_change_batch.py"
    "::test_a_table_with_a_column_of_that_name_takes_no_kinds",
    "SEARCH_PATH_NOT_FOLLOWED": "unit/sql/test_names_of_spark.py"
    "::test_by_a_search_path_only_names_with_a_namespace_are_taken",
    "SERIALIZABLE_SPANS_CATALOGS": "unit/catalog/test_open_transaction.py"
    "::test_a_serializable_transaction_depends_on_one_catalog",
    "SESSION_HAS_STREAMS": "session/sessions/test_late_session.py::test_a_session_that_is_there_already_becomes_whole",
    "SESSION_NOT_ATTACHED": "session/sessions/test_late_session.py::test_a_session_that_is_there_already_becomes_whole",
    "SESSION_STOPPED": "session/sessions/test_catalogs.py::test_plain_settings",
    "SHIM_NOT_KEPT": "unit/spark/shim/test_shim_jar.py::test_a_cache_that_cannot_be_written",
    "SHIM_NOT_COMPILED": "unit/spark/shim/test_shim_jar.py::test_an_error_of_the_compiler_is_told_without_its_trace",
    "SHIM_NOT_LOADED": "session/sessions/test_class_loaders.py::test_a_jvm_whose_loader_takes_no_jars_is_refused",
    "SPARK_NOT_FOUND": "unit/spark/shim/test_shim_jar.py"
    "::test_other_sparks_are_refused_by_name[other.jar-SPARK_NOT_FOUND]",
    "SPARK_NOT_SUPPORTED": "unit/spark/shim/test_shim_jar.py"
    "::test_other_sparks_are_refused_by_name[spark-core_2.13-3.5.9.jar-SPARK_NOT_SUPPORTED]",
    "STORAGE_ACCESS_DENIED": "unit/storage/test_object_store.py::test_wrong_keys_are_told_and_not_shown",
    "STREAM_BATCH_DIFFERS": "streaming/test_sink.py::test_a_checkpoint_that_was_put_back_is_refused",
    "STREAM_FENCED": "unit/commit/actions/test_stream_progress.py::test_an_overtaken_run_is_fenced_and_leaves_no_file",
    "STREAM_KEY_NOT_THE_TABLES": "streaming/test_sink.py::test_update_mode_of_an_aggregation_and_what_it_refuses",
    "STREAM_OFFSET_UNREADABLE": "unit/streaming/test_position.py::test_what_is_no_offset_is_refused[no JSON]",
    "STREAM_PROGRESS_UNREADABLE": "unit/commit/actions/test_stream_progress.py"
    '::test_what_is_no_progress_is_refused[{"version": 1, "run": "r", "batch": "x", "plans": {}}]',
    "TRANSACTION_LOST": "unit/spark/session/test_open_transactions.py"
    "::test_a_transaction_that_began_in_another_process_is_lost",
    "TRANSACTION_OF_ANOTHER_SESSION": "session/sessions/test_catalogs.py"
    "::test_a_clone_of_a_session_with_a_transaction_reads_in_it_and_changes_nothing",
    "TRANSACTION_SPANS_CATALOGS": "unit/catalog/test_open_transaction.py::test_changes_are_of_one_catalog",
    "UNSUPPORTED_TABLE_FEATURE": "unit/scan/test_scan_plan.py"
    "::test_unsupported_files_are_named_with_their_feature[file3-LANCE delete files (such as e.lance)]",
    "UNSUPPORTED_TRANSFORM": "unit/sql/test_show_create_table.py::test_a_transform_without_sql_spelling_is_refused",
    "UNSUPPORTED_WRITE": "unit/write/test_arrow_schema.py::test_a_type_that_cannot_be_written_is_refused",
    "VIEW_DIALECT_NOT_READ": "unit/spark/catalog/test_view_description.py::test_a_view_that_has_no_query_of_spark",
    "WORKER_LACKS_PACKAGES": "cluster/test_executors.py::test_a_missing_dependency_is_named",
}
"""The test that ends with an error of a condition, below tests/, with its parameters if messages differ."""

PROGRAMS_IN_SPARK = "session/sessions/test_error_examples.py::test_a_program_ends_with_its_error"
"""The test of the programs in Spark, whose parameter is a condition."""


@dataclass(frozen=True, slots=True)
class Told:
    """A condition, and a message of it."""

    condition: str
    message: str


def conditions_of(test: str) -> Sequence[str]:
    """The conditions whose message a test, by its id in pytest, gives."""
    name = test.removeprefix("tests/")
    function, _, parameter = name.partition("[")
    if function == PROGRAMS_IN_SPARK:
        return [parameter.removesuffix("]")]
    return [condition for condition, one in TESTS.items() if one in (name, function)]


@contextmanager
def raised_errors() -> Iterator[list[Told]]:
    """The errors of sqlext that are made in the block, in this process, in their order."""
    found: list[Told] = []
    plain = SqlextError.__init__

    def heard(self: SqlextError, condition: str, **parameters: Any) -> None:
        plain(self, condition, **parameters)
        found.append(Told(condition, str(self)))

    with patch.object(SqlextError, "__init__", heard):
        yield found


def recorded_message(condition: str) -> str | None:
    """The recorded message of a condition."""
    return _recorded().get(condition)


def settle(condition: str, told: Iterable[Told], folders: Iterable[Path]) -> None:
    """Compares the first message of the condition with the recorded one, or records it if the environment says so.

    `folders` are those of the test, which are called /home/ada on the page.
    """
    first = next((one.message for one in told if one.condition == condition), None)
    assert first is not None, f"the test makes no error of {condition}"
    message = steady(first, folders)
    if os.environ.get(RECORDING):
        TOLD.write_text(json.dumps({**_recorded(), condition: message}, indent=1, sort_keys=True) + "\n")
    recorded = recorded_message(condition) or ""
    assert _without_numbers(message) == _without_numbers(recorded), f"{message}\n{_RECORD} writes it anew"


def _without_numbers(text: str) -> str:
    """Numbers with their units are those of a run, as a busy machine writes others; so are what stands for them."""
    return re.sub(r"<\w+>|\d[\d.]*(\s?[µμmn]?s\b)?", "#", text)


def steady(text: str, folders: Iterable[Path] = ()) -> str:
    """A message without what differs from run to run: folders, ids, times, ports, and what tests number.

    The last number of a version of Spark, which the environment of the tests follows, is left out too.
    """
    for folder in sorted({str(one) for one in folders}, key=len, reverse=True):
        text = text.replace(folder, "/home/ada")
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|\b\d{15,}\b", "<id>", text)
    text = re.sub(r"\b(in|over) \d[\d.]* ?(µs|ms|s)\b", r"\1 <time>", text)
    text = re.sub(r"\bbucket\d{10,}-\d+\b", "bucket", text)
    text = re.sub(rf"\b{re.escape(DEFAULT_SPARK)}\.\d+\b", f"{DEFAULT_SPARK}.<n>", text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "<time>", text)
    text = re.sub(r"\b(localhost|127\.0\.0\.1):\d{4,5}", r"\1:<port>", text)
    return re.sub(r"\blake\.(db\.|routed_)t\d+", r"lake.\1t", text)


def _recorded() -> dict[str, str]:
    told: dict[str, str] = json.loads(TOLD.read_text()) if TOLD.exists() else {}
    return told
