"""Facts about changes whose source rows replace the target rows with their keys, for the planner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from sqlext.command.change.change_facts import facts_of
from sqlext.command.change.enforced_key import have_plain_keys
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import Way
from sqlext.command.plan.facts import ChangeFacts, KeyFacts, Mode, SourceSize
from sqlext.commit.rules.sequence_field import row_order
from sqlext.commit.rules.upsert_rules import partition_not_in_key
from sqlext.properties import MERGE_MODE, UPSERT_MODE
from sqlext.scan.key_lookup import lookup_bytes
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.types import VariantType


def key_facts_of(
    environment: Environment,
    target: Target,
    size: Callable[[], SourceSize],
    *,
    is_given: bool = False,
    in_order: bool = False,
) -> ChangeFacts:
    """Facts about an upsert of a source of that size; see `KeyFacts`."""
    metadata = target.table.metadata
    properties = metadata.properties
    mode = Mode(UPSERT_MODE.name, UPSERT_MODE.of(properties), UPSERT_MODE.name in properties)
    by_equality = mode.value == Way.EQUALITY.value
    key = KeyFacts(
        mode,
        deletes_apply_to_all=cache(
            lambda: (by_equality or _partition_in_key(target)) and _deletes_reach_all(environment, target)
        ),
        keys_fit=cache(lambda: _keys_fit(environment, target)),
        size=size,
        compares_stored=not by_equality and bool(row_order(metadata.schema(), properties, str(target.name))),
        is_given=is_given,
        in_order=in_order,
    )
    return replace(facts_of(target, MERGE_MODE), key=key)


def _deletes_reach_all(environment: Environment, target: Target) -> bool:
    """Whether equality deletes of the current spec apply to all data files: a partitioned spec's apply to its own
    only."""
    metadata = target.table.metadata
    if len(metadata.partition_specs) == 1 or metadata.spec().is_unpartitioned:
        return True
    return environment.scans.data_spec_ids(target.version) <= {metadata.default_spec_id}


def _keys_fit(environment: Environment, target: Target) -> bool:
    """Whether the driver can look up keys: data files have them as Spark does, they fit, and there are no equality
    deletes."""
    schema, limits = target.table.metadata.schema(), environment.planning.thresholds
    if not environment.plans_all_files(target.version):
        return False
    if not have_plain_keys(schema) or any(isinstance(schema.field(id).type, VariantType) for id in schema.field_ids):
        return False
    plan = environment.scans.plan(target.version, AlwaysTrue())
    if plan.equality_groups or not environment.scans.reads_by_field_id(target.version, plan):
        return False
    return lookup_bytes(plan, schema.identifier_field_ids) <= limits.looked_up_key_bytes


def _partition_in_key(target: Target) -> bool:
    """Whether the key determines a row's partition, as equality deletes require."""
    metadata = target.table.metadata
    return partition_not_in_key(metadata.schema(), metadata.spec(), str(target.name)) is None
