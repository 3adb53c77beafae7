"""Whether the driver reads a scan by equality itself, without a Spark job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.spec.expression import Comparison, In, Predicate, conjuncts
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.thresholds import Thresholds

MOST_FILES = 8
"""Of so many files the driver reads rows itself: to open one takes as long as to read a thousand rows of it."""


def driver_rows(predicate: Predicate, files: Sequence[ContentFile], thresholds: Thresholds) -> int:
    """Of how many rows of data files the driver reads the scan of these `files`; 0 if tasks read it in any case.

    The driver does where the predicate holds for rows alone that have one of certain values in some column, as those
    with a key have, and few files may have such rows. Wide rows are fewer, so that they take no more memory.
    """
    if len(files) > MOST_FILES or not _has_values(predicate):
        return 0
    stored, rows = sum(file.file_size_in_bytes for file in files), sum(file.record_count for file in files)
    fitting = thresholds.driver_bytes * rows // max(1, stored * thresholds.unpacked)
    return min(thresholds.looked_up_rows, fitting) if files else thresholds.looked_up_rows


def _has_values(predicate: Predicate) -> bool:
    return any(isinstance(one, In) or (isinstance(one, Comparison) and one.op == "=") for one in conjuncts(predicate))
