"""Places of a table's history that read options name."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.spark.catalog.time_travel import place_in_options


def test_two_places_are_told_by_the_options_that_were_written() -> None:
    with pytest.raises(AnalysisError, match="with the options Snapshot-Id and tag") as refused:
        place_in_options({"Snapshot-Id": "1", "tag": "v1"})
    assert refused.value.condition == "TIME_TRAVEL_TWICE"
    assert place_in_options({"As-Of-Timestamp": "5", "split-size": "1"}) == {"at_timestamp": "5"}
