"""Options of rewrites: each is taken or refused by its name."""

from __future__ import annotations

import re

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.command.compaction.rewrite_options import RewriteOptions
from sqlext.errors import AnalysisError
from sqlext.spec.metadata.table_metadata import TableMetadata


@pytest.fixture
def metadata(tmp_path: object) -> TableMetadata:
    return Writer(warehouse_catalog(tmp_path)).create().metadata  # type: ignore[arg-type]


def _refused(reason: str) -> AnalysisError:
    return AnalysisError("PROCEDURE_ARGUMENT", procedure="rewrite_data_files", reason=reason, parameters="")


def _read(metadata: TableMetadata, way: str = "zorder", **given: str) -> RewriteOptions:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in given.items()}
    return RewriteOptions.of_data_files(named, metadata, 1_000, way, _refused)


def test_defaults(metadata: TableMetadata) -> None:
    options = _read(metadata)
    rules = options.rules
    assert (rules.target_bytes, rules.min_bytes, rules.max_bytes, rules.largest_new_file) == (1_000, 750, 1_800, 1_400)
    assert (options.commits, options.failed_commits, options.keeps_sequence_number) == (None, 10, True)


def test_sizes_follow_the_target(metadata: TableMetadata) -> None:
    rules = _read(metadata, target_file_size_bytes="100").rules
    assert (rules.min_bytes, rules.max_bytes) == (75, 180)


def test_partial_progress(metadata: TableMetadata) -> None:
    options = _read(metadata, partial_progress__enabled="TRUE", partial_progress__max_commits="3")
    assert (options.commits, options.failed_commits) == (3, 3)
    assert _read(metadata, partial_progress__max_failed_commits="0").failed_commits == 0


@pytest.mark.parametrize(
    ("way", "name", "value"),
    [
        ("binpack", "compression_factor", "1"),
        ("sort", "max_output_size", "8"),
        ("zorder", "file_size", "1"),
        ("binpack", "min_input_files", "0"),
        ("binpack", "min_input_files", "a"),
        ("binpack", "target_file_size_bytes", "1.5"),
        ("binpack", "max_file_size_bytes", "1000"),
        ("binpack", "delete_ratio_threshold", "0"),
        ("binpack", "delete_ratio_threshold", "nan"),
        ("sort", "compression_factor", "-1"),
        ("binpack", "rewrite_job_order", "bytes"),
        ("binpack", "output_spec_id", "3"),
        ("binpack", "max_files_to_rewrite", "9223372036854775808"),
        ("binpack", "max_concurrent_file_group_rewrites", "0"),
        ("binpack", "use_starting_sequence_number", "no"),
    ],
)
def test_what_is_refused(metadata: TableMetadata, way: str, name: str, value: str) -> None:
    with pytest.raises(AnalysisError, match=name.replace("_", "-")):
        _read(metadata, way, **{name: value})


@pytest.mark.parametrize("value", ["", "--5", "-", "1_000", "inf", "-inf", "1e400", "1e300", "²", "9" * 5_000, "null"])
def test_nonsense_is_refused_for_every_option(metadata: TableMetadata, value: str) -> None:
    with pytest.raises(AnalysisError, match="it has") as caught:
        _read(metadata, "zorder", none="1")
    (_, _, known) = str(caught.value).partition("it has ")
    for name in re.findall(r"[a-z][a-z.-]+[a-z]", known.partition(". It takes")[0]):
        with pytest.raises(AnalysisError, match=name):
            RewriteOptions.of_data_files({name: value}, metadata, 1_000, "zorder", _refused)
