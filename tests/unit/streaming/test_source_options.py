"""Options of a streaming read."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.streaming.source_options import SourceOptions, source_options


def test_names_in_any_case() -> None:
    options = source_options(
        {
            "Row-Kinds": "true",
            "start-snapshot-id": "7",
            "streaming-max-rows-per-micro-batch": "10",
            "streaming-skip-delete-snapshots": "true",
            "table": "lake.db.t",
        }
    )
    assert options == SourceOptions(row_kinds=True, start_snapshot=7, max_rows=10, skipped=frozenset({"delete"}))
    assert source_options({}) == SourceOptions()


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"start-snapshot": "1"}, "UNKNOWN_STREAM_OPTION"),
        ({"row-kinds": "yes"}, "INVALID_STREAM_OPTION"),
        ({"stream-from": "now"}, "INVALID_STREAM_OPTION"),
        ({"streaming-max-files-per-micro-batch": "0"}, "INVALID_STREAM_OPTION"),
        ({"consumer-id": "c", "protect-from-expiry": "false"}, "INVALID_STREAM_OPTION"),
        ({"start-snapshot-id": "1", "stream-from": "latest"}, "INVALID_STREAM_OPTION"),
    ],
)
def test_what_is_refused(options: dict[str, str], condition: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        source_options(options)
    assert refused.value.condition == condition
