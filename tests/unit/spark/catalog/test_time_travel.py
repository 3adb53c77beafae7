"""Places of a table's history that read options name."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.spark.catalog.time_travel import Pin, pin_of, place_in_options


def test_two_places_are_told_by_the_options_that_were_written() -> None:
    with pytest.raises(AnalysisError, match="with the options Snapshot-Id and tag") as refused:
        place_in_options({"Snapshot-Id": "1", "tag": "v1"})
    assert refused.value.condition == "TIME_TRAVEL_TWICE"
    assert place_in_options({"As-Of-Timestamp": "5", "split-size": "1"}) == {"at_timestamp": "5"}


@pytest.mark.parametrize(
    "pin",
    [
        Pin("v3.metadata.json"),
        Pin("v3.metadata.json", snapshot_id=5),
        Pin("v3.metadata.json", snapshot_id=5, changelog=True),
        Pin("5", snapshot_id=5),
        *(
            Pin("v3.metadata.json", branch)
            for branch in ("b", "/5", "/5/changelog", "//", "a/b", "@b", "a\nb", "5/v2.metadata.json", "changelog/x")
        ),
    ],
)
def test_a_pin_is_read_as_it_was_written(pin: Pin) -> None:
    """A branch may have any name."""
    assert pin_of({"version": pin.version}) == pin


@pytest.mark.parametrize("version", ["", "5", "b", "@", "@/", "@/b/v3.metadata.json", "@/5", "@/5/"])
def test_another_version_is_no_pin(version: str) -> None:
    assert pin_of({"version": version}) is None
    assert pin_of({}) is None
