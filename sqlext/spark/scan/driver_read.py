"""Whether the driver reads a scan by equality itself, without a Spark job."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlext.properties import PARQUET_PAGE_ROWS
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.filter.pruning import metrics_ranges
from sqlext.scan.filter.value_range import RangeOf, ValueRange
from sqlext.spec.expression import Comparison, In, Predicate, conjuncts
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.schema import Schema
from sqlext.thresholds import Thresholds

MOST_FILES = 8
"""Of so many files the driver reads rows itself: to open one takes as long as to read a thousand rows of it."""


def driver_rows(predicate: Predicate, files: Sequence[ContentFile], schema: Schema, thresholds: Thresholds) -> int:
    """Of how many rows of data files the driver reads the scan of these `files`; 0 if tasks read it in any case.

    The driver does where the predicate holds for rows alone that have one of certain values in some column, as those
    with a key have, and few files, and few of their pages, may have such rows. Wide rows are fewer, so that they take
    no more memory. `schema` has the fields of `predicate`.
    """
    sought = list(sought_values(predicate))
    if len(files) > MOST_FILES or not sought:
        return 0
    stored, rows = sum(file.file_size_in_bytes for file in files), sum(file.record_count for file in files)
    fitting = thresholds.driver_bytes * rows // max(1, stored * thresholds.unpacked)
    most = min(thresholds.looked_up_rows, fitting) if files else thresholds.looked_up_rows
    columns = metrics_columns((schema,))
    return most if sum(_rows_of_pages(sought, metrics_ranges(file, columns), file) for file in files) <= most else 0


def are_scattered(predicate: Predicate, files: Sequence[ContentFile], schema: Schema) -> bool:
    """Whether rows are in no order by the values that they have if they match, as by a hash, as far as bounds of files
    tell: each of the values may be in several files of more than a page. Then it may be in any of their pages."""
    columns = metrics_columns((schema,))
    ranges = [metrics_ranges(file, columns) for file in files if file.record_count > PARQUET_PAGE_ROWS.default]
    return all(
        sum(_count_within(range_of(id), values) for range_of in ranges) > len(values)
        for id, values in sought_values(predicate)
    )


def sought_values(predicate: Predicate) -> Iterator[tuple[int, Collection[Any]]]:
    """The fields of which a row that matches has one of certain values, by id, and these values."""
    for term in conjuncts(predicate):
        if isinstance(term, In):
            yield term.id, term.values
        elif isinstance(term, Comparison) and term.op == "=":
            yield term.id, (term.value,)


def _rows_of_pages(sought: Sequence[tuple[int, Collection[Any]]], range_of: RangeOf, file: ContentFile) -> int:
    """The rows that are read for values each of which is in a page of its own, where rows are ordered by them; 0 if
    bounds do not tell which are in the file. In any other order it may be more."""
    pages = min(_count_within(range_of(id), values) for id, values in sought)
    return min(file.record_count, pages * PARQUET_PAGE_ROWS.default)


def _count_within(values: ValueRange, sought: Collection[Any]) -> int:
    """How many of the values that are sought may be in the range; 0 if that is not known."""
    if values.lower is None or values.upper is None:
        return 0
    return sum(values.lower <= one <= values.upper for one in sought)
