"""The merge engine that a table's properties declare, checked against the table's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlext.commit.rules.nested_rows import (
    COUNT_LIMIT,
    NESTED_KEY,
    NESTED_SEQUENCE,
    NULL_STRATEGY,
    NUMBERS,
    ORDERED,
    TS_FIELD,
    nested_rows,
    require_plain_keys,
    time_field,
)
from sqlext.commit.rules.sequence_field import row_order, sequence_columns
from sqlext.errors import AnalysisError
from sqlext.properties import (
    AGGREGATION,
    AGGREGATION_REMOVES,
    DEDUPLICATE,
    FIELDS_PREFIX,
    FIRST_ROW,
    IGNORE_DELETE,
    IGNORE_UPDATE_BEFORE,
    MERGE_ENGINE,
    PARTIAL_UPDATE,
    PARTIAL_UPDATE_REMOVES,
    ROWKIND_FIELD,
    SEQUENCE_SORT_ORDER,
    UPSERT_ENABLED,
    UPSERT_MODE,
    UPSERT_SEQUENCE_FIELD,
    TableProperty,
)
from sqlext.spec.merge_engine import FUNCTIONS, SKETCH_FUNCTIONS, ColumnMerge, MergeEngine, NestedRows
from sqlext.spec.row_order import RowOrder
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    has_equality,
)

_TYPES: Mapping[str, tuple[type, ...]] = {
    "sum": NUMBERS,
    "product": NUMBERS,
    "count": (IntegerType, LongType),
    "min": (*ORDERED, BooleanType, BinaryType),
    "max": (*ORDERED, BooleanType, BinaryType),
    "bool_and": (BooleanType,),
    "bool_or": (BooleanType,),
    "listagg": (StringType,),
    "collect": (ListType,),
    "merge_map": (MapType,),
    **dict.fromkeys(SKETCH_FUNCTIONS, (BinaryType,)),
}
_FUNCTION, _IGNORE_RETRACT, _DISTINCT, _DELIMITER, _GROUP = (
    ".aggregate-function",
    ".ignore-retract",
    ".distinct",
    ".list-agg-delimiter",
    ".sequence-group",
)
# The functions that have an option.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    _DISTINCT: ("collect", "listagg"),
    _DELIMITER: ("listagg",),
    NESTED_KEY: ("nested_update", "nested_partial_update"),
    NULL_STRATEGY: ("nested_update", "nested_partial_update"),
    NESTED_SEQUENCE: ("nested_update",),
    COUNT_LIMIT: ("nested_update",),
    TS_FIELD: ("merge_map_with_keytime",),
}
# Paimon still reads them.
_FORMER_NAMES: Mapping[str, str] = {"first_not_null_value": "first_non_null_value"}
_OF_MAPS = ("merge_map", "merge_map_with_keytime")
_NESTED = _OPTIONS[NESTED_KEY]
_DEFAULT_FUNCTION = "fields.default-aggregate-function"
_OF_ROWS: tuple[TableProperty[Any], ...] = (
    MERGE_ENGINE,
    IGNORE_DELETE,
    IGNORE_UPDATE_BEFORE,
    PARTIAL_UPDATE_REMOVES,
    AGGREGATION_REMOVES,
    UPSERT_SEQUENCE_FIELD,
    SEQUENCE_SORT_ORDER,
    ROWKIND_FIELD,
)


def has_merge_engine(properties: Mapping[str, str]) -> bool:
    """Whether the properties set a merge engine, so that each write is an upsert by key."""
    return MERGE_ENGINE.name in properties


def merge_properties(properties: Mapping[str, str]) -> Mapping[str, str]:
    """The properties that decide how rows written by key are merged or ignored."""
    names = {name for known in _OF_ROWS for name in (known.name, *known.also)}
    return {name: value for name, value in properties.items() if name in names or name.startswith(FIELDS_PREFIX)}


def merge_engine(schema: Schema, properties: Mapping[str, str], table: str) -> MergeEngine | None:
    """The engine that merges rows of one key; None if the last row replaces the others.

    Raises AnalysisError INVALID_MERGE_ENGINE, INVALID_SEQUENCE_FIELD, INVALID_TABLE_PROPERTY or UPSERT_WITHOUT_KEY.
    """
    name = MERGE_ENGINE.of(properties)
    if has_merge_engine(properties) and not schema.identifier_field_ids:
        raise AnalysisError("UPSERT_WITHOUT_KEY", name=table, otherwise=f"leave {MERGE_ENGINE.name} out")
    for refused in _refusals(name, properties):
        raise AnalysisError("INVALID_MERGE_ENGINE", name=table, engine=name, reason=refused)
    if name == DEDUPLICATE:
        return None
    rules = _Rules(schema, properties, table, name)
    return MergeEngine(
        name,
        tuple(rules.columns()),
        rules.sequence,
        removes_on_delete=_removes(name, properties),
        takes_retractions=name == AGGREGATION,
        keeps_first=name == FIRST_ROW,
    )


def _refusals(name: str, properties: Mapping[str, str]) -> Iterator[str]:
    """Contradictions between the engine and other properties, as messages."""
    if name in (DEDUPLICATE, FIRST_ROW):
        said = next((one for one in sorted(properties) if one.startswith(FIELDS_PREFIX)), None)
        if said is not None and has_merge_engine(properties):
            yield f"{said} says what to do in a column, and whole rows are kept"
    if name == FIRST_ROW and UPSERT_SEQUENCE_FIELD.of(properties):
        yield f"{UPSERT_SEQUENCE_FIELD.name} declares an order, and the row that is stored first stays"
    if has_merge_engine(properties):
        if properties.get(UPSERT_ENABLED.name) is not None and not UPSERT_ENABLED.of(properties):
            yield f"{UPSERT_ENABLED.name} is false, and rows that come in beside each other would not be merged"
        if name != DEDUPLICATE and UPSERT_MODE.of(properties) == "equality":
            yield f"{UPSERT_MODE.name} is equality, which does not read the rows that are there"
    for engine, removes in ((PARTIAL_UPDATE, PARTIAL_UPDATE_REMOVES), (AGGREGATION, AGGREGATION_REMOVES)):
        if removes.of(properties) and name != engine:
            yield f"{removes.name} is of the engine {engine}"
        if removes.of(properties) and IGNORE_DELETE.of(properties):
            yield f"{removes.name} and {IGNORE_DELETE.name} say two things of a delete"


def _removes(name: str, properties: Mapping[str, str]) -> bool:
    own: Mapping[str, TableProperty[bool]] = {PARTIAL_UPDATE: PARTIAL_UPDATE_REMOVES, AGGREGATION: AGGREGATION_REMOVES}
    return name in own and own[name].of(properties)


class _Rules:
    """The `fields.*` properties; one without effect is an error."""

    def __init__(self, schema: Schema, properties: Mapping[str, str], table: str, engine: str) -> None:
        self._schema = schema
        self._properties = {name: value for name, value in properties.items() if name.startswith(FIELDS_PREFIX)}
        self._table = table
        self._engine = engine
        self.sequence = row_order(schema, properties, table)
        self._default = self._properties.pop(_DEFAULT_FUNCTION, None)
        self._removes = _removes(engine, properties)

    def columns(self) -> Iterator[ColumnMerge]:
        groups = self._groups()
        said = {suffix: self._of_columns(suffix) for suffix in (_FUNCTION, _IGNORE_RETRACT, *_OPTIONS)}
        for name in self._properties:
            raise self._refused(f"{name} is no property of a column")
        for column in self._schema.fields:
            if column.id in self._schema.identifier_field_ids:
                if any(column.name in of_column for of_column in said.values()) or column.name in groups:
                    raise self._refused(f"{column.name} is in the key, which tells the rows apart")
                continue
            merge = self._column(column, said, groups.get(column.name))
            if self._engine == PARTIAL_UPDATE and column.write_default is not None:
                raise self._refused(
                    f"the default of {column.name} would stand in for a value that a row does not bring"
                )
            yield merge

    def _column(
        self, column: NestedField, said: Mapping[str, Mapping[str, str]], group: RowOrder | None
    ) -> ColumnMerge:
        name, order = column.name, self.sequence if group is None else group
        if name in order.columns:
            if name in said[_FUNCTION]:
                raise self._refused(f"{name} tells the order of rows, and keeps its last value")
            function = "last_value"
        else:
            function = said[_FUNCTION].get(name, self._default or self._unsaid(grouped=group is not None)).lower()
        function = _FORMER_NAMES.get(function, function)
        fits = _TYPES.get(function)
        if function not in FUNCTIONS:
            raise self._refused(f"{function} of {name} is no aggregate function, but {', '.join(FUNCTIONS)} are")
        if fits is not None and not isinstance(column.type, fits):
            raise self._refused(f"{function} cannot be made of {name}, whose type is {column.type}")
        if isinstance(column.type, DecimalType) and not _stays_exact(function, column.type):
            raise self._refused(f"the {function} of {name} would not be exact in {column.type}, of too many digits")
        options = {suffix: said[suffix][name] for suffix in _OPTIONS if name in said[suffix]}
        for suffix in options:
            if function not in _OPTIONS[suffix]:
                of = " and ".join(_OPTIONS[suffix])
                raise self._refused(f"{FIELDS_PREFIX}{name}{suffix} is of {of}, and not of {function}")
        if function == "collect" and not has_equality(column.type):
            raise self._refused(f"the elements of {name} cannot be compared")
        distinct, delimiter = self._flag(name, _DISTINCT, options.get(_DISTINCT)), options.get(_DELIMITER, ",")
        if function == "listagg" and distinct and not delimiter:
            raise self._refused(f"{FIELDS_PREFIX}{name}{_DELIMITER} is empty, and tells no parts apart")

        def unfit(reason: str) -> AnalysisError:
            return self._refused(f"{function} cannot be made of {name}: {reason}")

        if function in _OF_MAPS:
            require_plain_keys(column.type, unfit)
        return ColumnMerge(
            name,
            function,
            order,
            distinct=distinct,
            delimiter=delimiter,
            nested=nested_rows(function, column.type, options, unfit) if function in _NESTED else NestedRows(),
            time=time_field(column.type, options, unfit) if function == "merge_map_with_keytime" else "",
            ignores_retractions=self._flag(name, _IGNORE_RETRACT, said[_IGNORE_RETRACT].get(name)),
            grouped=group is not None,
        )

    def _unsaid(self, *, grouped: bool) -> str:
        if self._engine == FIRST_ROW:
            return "first_value"
        return "last_value" if grouped else "last_non_null_value"

    def _groups(self) -> Mapping[str, RowOrder]:
        """The sequence order of each column in a sequence group, including the group's own sequence columns. As in
        Paimon, groups have no descending order."""
        groups: dict[str, RowOrder] = {}
        for name in [one for one in self._properties if one.endswith(_GROUP)]:
            said = self._properties.pop(name)
            if self._engine != PARTIAL_UPDATE or self._removes:
                raise self._refused(f"{name} is of the engine {PARTIAL_UPDATE} without removal on delete")
            names = _names(name[len(FIELDS_PREFIX) : -len(_GROUP)])
            order = RowOrder(sequence_columns(self._schema, names, self._table))
            for member in (*order.columns, *(self._column_named(one, name) for one in _names(said))):
                if groups.setdefault(member, order) != order:
                    raise self._refused(f"{member} is in two sequence groups")
                if member in self.sequence.columns:
                    raise self._refused(f"{member} tells the order of all rows, and is in the sequence group {name}")
        return groups

    def _of_columns(self, suffix: str) -> dict[str, str]:
        """Takes the properties with this suffix out of those left to check; their values by column."""
        names = [name for name in self._properties if name.endswith(suffix)]
        return {
            self._column_named(name[len(FIELDS_PREFIX) : -len(suffix)], name): self._properties.pop(name)
            for name in names
        }

    def _column_named(self, text: str, said_by: str) -> str:
        found = next((field for field in self._schema.fields if field.name.lower() == text.strip("` ").lower()), None)
        if found is None:
            raise self._refused(f"{said_by} names {text}, and there is no such column")
        return found.name

    def _flag(self, column: str, suffix: str, text: str | None) -> bool:
        if text is None or text.strip().lower() == "false":
            return False
        if text.strip().lower() != "true":
            raise self._refused(f"{FIELDS_PREFIX}{column}{suffix} must be true or false")
        return True

    def _refused(self, reason: str) -> AnalysisError:
        return AnalysisError("INVALID_MERGE_ENGINE", name=self._table, engine=self._engine, reason=reason)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip().strip("`") for name in text.split(","))


def _stays_exact(function: str, type: DecimalType) -> bool:
    """Whether Spark keeps all fractional digits of the result: beyond 38 digits it drops those after the sixth."""
    return type.scale <= 6 or function not in ("sum", "product") or (function == "sum" and type.precision <= 27)
