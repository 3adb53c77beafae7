"""Options of a streaming write."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError, SqlextError
from sqlext.streaming.sink_options import sink_options


def test_names_of_flinks_sink_and_of_a_write() -> None:
    options = sink_options(
        {
            "checkpointLocation": "/c",
            "Overwrite-Enabled": "true",
            "write-parallelism": "3",
            "equality-field-columns": "a, `b`",
            "max-continuous-empty-commits": "0",
            "target-file-size-bytes": "1000",
            "snapshot-property.run": "7",
            "branch": "audit",
        }
    )
    assert (options.overwrite, options.parallelism, options.write.equality_columns) == ("dynamic", 3, (("a",), ("b",)))
    assert (options.empty_commits, options.accept_checkpoint) == (0, False)
    assert options.write.branch == "audit"
    assert options.write.summary == (("run", "7"),)
    assert options.write.settings == {"write.target-file-size-bytes": "1000"}


@pytest.mark.parametrize(
    ("name", "value", "condition"),
    [
        ("overwrite", "true", "UNKNOWN_STREAM_OPTION"),
        ("overwrite-mode", "some", "INVALID_STREAM_OPTION"),
        ("write-parallelism", "0", "INVALID_STREAM_OPTION"),
        ("max-continuous-empty-commits", "-1", "INVALID_STREAM_OPTION"),
        ("accept-checkpoint", "yes", "INVALID_STREAM_OPTION"),
        ("equality-field-columns", "a,", "INVALID_STREAM_OPTION"),
        ("txn-app-id", "a", "OPTION_NOT_SUPPORTED"),
        ("txnVersion", "1", "OPTION_NOT_SUPPORTED"),
        ("write-format", "avro", "OPTION_NOT_SUPPORTED"),
    ],
)
def test_what_is_refused(name: str, value: str, condition: str) -> None:
    with pytest.raises(SqlextError) as refused:
        sink_options({name: value})
    assert refused.value.condition == condition


def test_an_unknown_name_tells_those_there_are() -> None:
    with pytest.raises(AnalysisError, match=r"accept-checkpoint, .*branch, .*overwrite-mode, .*write-parallelism"):
        sink_options({"parallelism": "2"})
