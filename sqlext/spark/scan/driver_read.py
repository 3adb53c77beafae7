"""Whether the driver reads a scan by equality itself, without a Spark job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlext.properties import PARQUET_PAGE_ROWS
from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.pruning import metrics_ranges
from sqlext.scan.filter.value_range import ValueRange
from sqlext.spec.expression import Comparison, In, Predicate, conjuncts
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.thresholds import Thresholds

MOST_FILES = 8
"""Of so many files the driver reads rows itself: to open one takes as long as to read a thousand rows of it."""


def driver_rows(
    predicate: Predicate, files: Sequence[ContentFile], columns: Mapping[int, MetricsColumn], thresholds: Thresholds
) -> int:
    """Of how many rows of data files the driver reads the scan of these `files`; 0 if tasks read it in any case.

    The driver does where the predicate holds for rows alone that have one of certain values in some column, as those
    with a key have, and few files, and few of their pages, may have such rows. Wide rows are fewer, so that they take
    no more memory. `columns` are those of `metrics_columns`.
    """
    terms = [term for term in conjuncts(predicate) if _values(term)]
    if len(files) > MOST_FILES or not terms:
        return 0
    stored, rows = sum(file.file_size_in_bytes for file in files), sum(file.record_count for file in files)
    fitting = thresholds.driver_bytes * rows // max(1, stored * thresholds.unpacked)
    most = min(thresholds.looked_up_rows, fitting) if files else thresholds.looked_up_rows
    return most if sum(_rows_of_pages(terms, file, columns) for file in files) <= most else 0


def _values(term: Predicate) -> Sequence[Any]:
    """The values of which a row that matches has one; none if they are not told."""
    if isinstance(term, In):
        return tuple(term.values)
    return (term.value,) if isinstance(term, Comparison) and term.op == "=" else ()


def _rows_of_pages(terms: Sequence[Predicate], file: ContentFile, columns: Mapping[int, MetricsColumn]) -> int:
    """The rows that are read for values each of which is in a page of its own, where rows are ordered by them; 0 if
    bounds do not tell which are in the file. In any other order it may be more."""
    range_of = metrics_ranges(file, columns)
    pages = min(_count_within(range_of(term.id), _values(term)) for term in terms)  # type: ignore[union-attr]
    return min(file.record_count, pages * PARQUET_PAGE_ROWS.default)


def _count_within(values: ValueRange, sought: Sequence[Any]) -> int:
    """How many of the values that are sought may be in the range; 0 if that is not known."""
    if values.lower is None or values.upper is None:
        return 0
    return sum(values.lower <= one <= values.upper for one in sought)
