"""Outcomes of a term on the source column of a partition field, from a file's partition value (strict projection)."""

from __future__ import annotations

from typing import Any

from sqlext.scan.filter.pruning import ANY_OUTCOME, Outcome, outcomes
from sqlext.scan.filter.value_range import NULL_RANGE, ValueRange, point_range
from sqlext.spec.expression import In, InBucket, Predicate
from sqlext.spec.partition_spec import PartitionField
from sqlext.spec.transform import (
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    least_source_value,
)
from sqlext.spec.types import IntegerType, LongType, Type

_HALF = {IntegerType: 2**31, LongType: 2**63}


def partition_outcomes(term: Predicate, field: PartitionField, source_type: Type, value: Any) -> Outcome:
    """The truth values that a term on the field's source column may take in files with the partition value `value`."""
    transform = field.transform
    if isinstance(transform, (VoidTransform, UnknownTransform)):
        return ANY_OUTCOME
    if value is None:
        return outcomes(term, lambda _: NULL_RANGE)
    if isinstance(term, InBucket) and transform == BucketTransform(term.count):
        return outcomes(In(term.id, term.buckets), lambda _: point_range(value))
    found = _source_range(field, source_type, value)
    return outcomes(term, lambda _: found)


def _source_range(field: PartitionField, source_type: Type, value: Any) -> ValueRange:
    """The range of source values with the partition value `value`, which is not null."""
    transform = field.transform
    if isinstance(transform, IdentityTransform):
        return point_range(value)
    lower = upper = None
    if isinstance(transform, TruncateTransform):
        half = _HALF.get(type(source_type))
        if half is not None and transform.width - half <= value < half - transform.width:  # wraps around outside
            lower, upper = value, value + transform.width - 1
    elif not isinstance(transform, BucketTransform):
        # Old writers rounded times before 1970 towards zero.
        lower = least_source_value(transform, source_type, value if value > 0 else value - 1)
        upper = least_source_value(transform, source_type, value + 1) - 1
    return ValueRange(False, False, True, lower, upper)
