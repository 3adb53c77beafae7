"""Changes of a schema, and the schema after them (spec: Schema Evolution).

A change names its column by path (`("point", "x")`, `("tags", "element", "name")`), so that a retry can apply it to a
schema that another commit has changed. An added column gets a new id, also if a dropped column had its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlext.errors import AlreadyExistsError, AnalysisError
from sqlext.spec.field_path import path_text
from sqlext.spec.name_case import name_key, require_distinct_in_type
from sqlext.spec.reserved_columns import require_own_names
from sqlext.spec.schema import Schema, assign_fresh_ids, nested_fields
from sqlext.spec.type_promotion import is_promotion, promoted_value
from sqlext.spec.types import ListType, MapType, NestedField, StringType, StructType, Type

Path: TypeAlias = tuple[str, ...]
Fields: TypeAlias = tuple[NestedField, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a column among its siblings: after the column `after`, or first."""

    after: str | None = None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new column. Ids inside `type` are placeholders. `default` is a stored value: initial and write default.

    `lengths` has the n of each VARCHAR(n) in the column by placeholder id; the column itself has the id 0. `rules` are
    table properties of the column, by what stands before its id in their names.
    """

    path: Path
    type: Type
    required: bool = False
    doc: str | None = None
    default: Any = None
    position: Position | None = None
    lengths: Mapping[int, int] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DropColumn:
    path: Path
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """A type promotion of a column (spec: Schema Evolution); `length` is the n of a VARCHAR(n)."""

    path: Path
    type: Type
    length: int | None = None


@dataclass(frozen=True, slots=True)
class MoveColumn:
    path: Path
    position: Position


@dataclass(frozen=True, slots=True)
class SetComment:
    path: Path
    doc: str | None


@dataclass(frozen=True, slots=True)
class SetRequired:
    path: Path
    required: bool


@dataclass(frozen=True, slots=True)
class SetDefault:
    """A new write default, None for null. Values of stored rows do not change."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class ReplaceColumns:
    """Drops all columns and adds `columns`, with new ids."""

    columns: tuple[AddColumn, ...]


@dataclass(frozen=True, slots=True)
class SetIdentifierFields:
    """A new primary key, of columns that are required already."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class RequireIdentifierFields:
    """A new primary key, whose columns become required: the caller has checked that stored rows have no null there."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class DropIdentifierFields:
    """Removes columns from the primary key; they stay required."""

    paths: tuple[Path, ...]


SchemaChange: TypeAlias = (
    AddColumn
    | DropColumn
    | RenameColumn
    | WidenColumn
    | MoveColumn
    | SetComment
    | SetRequired
    | SetDefault
    | ReplaceColumns
    | SetIdentifierFields
    | RequireIdentifierFields
    | DropIdentifierFields
)


@dataclass(frozen=True, slots=True)
class ChangedColumns:
    """A schema after changes, and the VARCHAR lengths that the changes set by field id; None for no limit. `rules` are
    table properties of added columns."""

    schema: Schema
    lengths: Mapping[int, int | None]
    rules: Mapping[str, str]


def changed_schema(
    schema: Schema,
    changes: Sequence[SchemaChange],
    last_column_id: int,
    format_version: int,
    *,
    case_sensitive: bool = False,
) -> Schema:
    """`schema` after all changes in order, with its schema id; new field ids count from `last_column_id` + 1.

    Raises AnalysisError for a missing column or a change that the format does not allow, AlreadyExistsError
    FIELD_ALREADY_EXISTS for a name that is taken.
    """
    return changed_columns(schema, changes, last_column_id, format_version, case_sensitive=case_sensitive).schema


def changed_columns(
    schema: Schema,
    changes: Sequence[SchemaChange],
    last_column_id: int,
    format_version: int,
    *,
    case_sensitive: bool = False,
) -> ChangedColumns:
    """The result of `changed_schema`, with what the changes set beside it. Raises as `changed_schema`."""
    edit = _Edit(schema, last_column_id, format_version, case_sensitive)
    for change in changes:
        edit.apply(change)
    edited = Schema(edit.fields, schema.schema_id, edit.identifier_field_ids)
    edited.validate_identifier_fields()
    return ChangedColumns(edited, edit.lengths, edit.rules)


class _Edit:
    """A schema while changes are applied to it."""

    def __init__(self, schema: Schema, last_column_id: int, format_version: int, case_sensitive: bool) -> None:
        self.fields: Fields = schema.fields
        self.identifier_field_ids = schema.identifier_field_ids
        self._last_id = last_column_id
        self._format_version = format_version
        self._case_sensitive = case_sensitive
        self._added: set[int] = set()
        self.lengths: dict[int, int | None] = {}
        self.rules: dict[str, str] = {}

    def apply(self, change: SchemaChange) -> None:
        match change:
            case AddColumn():
                self._at(change.path, lambda fields: self._with_column(fields, change))
            case DropColumn():
                self._drop(change)
            case RenameColumn():
                self._at(change.path, lambda fields: _renamed(fields, change, self._case_sensitive))
            case WidenColumn():
                self._edit_field(change.path, lambda field: self._widened(field, change))
            case MoveColumn():
                self._at(change.path, lambda fields: self._moved(fields, change.path, change.position))
            case SetComment():
                self._edit_field(change.path, lambda field: replace(field, doc=change.doc))
            case SetRequired():
                self._edit_field(change.path, lambda field: self._with_nullability(field, change))
            case SetDefault():
                self._edit_field(change.path, lambda field: self._with_default(field, change))
            case ReplaceColumns():
                self._replace(change)
            case SetIdentifierFields():
                self._set_identifier_fields(change.paths)
            case RequireIdentifierFields(paths=paths):
                for path in paths:
                    self._edit_field(path, lambda field: replace(field, required=True))
                self._set_identifier_fields(paths)
            case DropIdentifierFields():
                self._drop_identifier_fields(change.paths)

    def _at(self, path: Path, edit: Callable[[Fields], Fields]) -> None:
        """Replaces the siblings at the end of `path`, with the field that `path` names, by `edit` of them."""
        self.fields = _edited(self.fields, path, 0, edit, self._case_sensitive)

    def _edit_field(self, path: Path, edit: Callable[[NestedField], NestedField]) -> None:
        def edit_one(fields: Fields) -> Fields:
            index = self._index(fields, path)
            return (*fields[:index], edit(fields[index]), *fields[index + 1 :])

        self._at(path, edit_one)

    def _with_column(self, fields: Fields, change: AddColumn) -> Fields:
        name = change.path[-1]
        if len(change.path) == 1:
            require_own_names([name])
        require_distinct_in_type(change.type, self._case_sensitive, change.path)
        if name_key(name, self._case_sensitive) in {name_key(field.name, self._case_sensitive) for field in fields}:
            raise AlreadyExistsError("FIELD_ALREADY_EXISTS", name=path_text(change.path))
        if change.default is not None and self._format_version < 3:
            raise _refused(change.path, "default values need format version 3. Leave DEFAULT out, or upgrade the table")
        if change.required and change.default is None:
            raise _refused(
                change.path,
                "rows that are there have no value for a required column. Leave NOT NULL out, or give a DEFAULT",
            )
        default = change.default
        column = NestedField(0, name, change.type, change.required, change.doc, default, default)
        numbered = self._numbered(column, change.lengths)
        self.rules.update({f"{prefix}{numbered.id}": text for prefix, text in change.rules.items()})
        fields = (*fields, numbered)
        return fields if change.position is None else self._moved(fields, change.path, change.position)

    def _numbered(self, field: NestedField, lengths: Mapping[int, int]) -> NestedField:
        placeholders = Schema((field,))
        fresh = assign_fresh_ids(placeholders, self._last_id + 1)
        ids = dict(zip(placeholders.field_ids, fresh.field_ids, strict=True))
        self.lengths.update({ids[id]: length for id, length in lengths.items()})
        self._last_id = fresh.highest_field_id
        self._added.add(fresh.fields[0].id)
        return fresh.fields[0]

    def _drop(self, change: DropColumn) -> None:
        def drop(fields: Fields) -> Fields:
            index = self._index(fields, change.path)
            self._require_outside_key(fields[index], change.path)
            return (*fields[:index], *fields[index + 1 :])

        if change.if_exists and not _exists(self.fields, change.path, self._case_sensitive):
            return
        self._at(change.path, drop)

    def _require_outside_key(self, field: NestedField, path: Path) -> None:
        inside = Schema((field,))
        for id in self.identifier_field_ids:
            if inside.field_or_none(id) is not None:
                way_out = f"ALTER TABLE … DROP IDENTIFIER FIELDS {inside.column_name(id)} first"
                raise AnalysisError("COLUMN_IN_USE", name=path_text(path), use="the primary key", way_out=way_out)

    def _widened(self, field: NestedField, change: WidenColumn) -> NestedField:
        widened = self._widened_type(field.type, change)
        if isinstance(widened, StringType):
            self.lengths[field.id] = change.length
        if widened == field.type:
            return field
        return replace(
            field,
            type=widened,
            initial_default=promoted_value(field.type, widened, field.initial_default),
            write_default=promoted_value(field.type, widened, field.write_default),
        )

    def _widened_type(self, before: Type, change: WidenColumn) -> Type:
        if isinstance(before, StructType | ListType | MapType) or isinstance(
            change.type, StructType | ListType | MapType
        ):
            if _same_shape(before, change.type):
                return before
            reason = "a nested type is changed field by field. Name the field: ALTER COLUMN a.b TYPE …"
            raise _not_widened(change.path, before, change.type, reason)
        if not is_promotion(before, change.type, self._format_version):
            reason = "the format widens int to bigint, float to double, decimals in their precision"
            if self._format_version >= 3:
                reason += ", date to timestamp_ntz"
            raise _not_widened(change.path, before, change.type, reason)
        return change.type

    def _with_nullability(self, field: NestedField, change: SetRequired) -> NestedField:
        if change.required and not field.required and field.id not in self._added:
            raise _refused(change.path, "rows that are there may hold null. A required column is added with the table")
        if not change.required and field.id in self.identifier_field_ids:
            way_out = f"ALTER TABLE … DROP IDENTIFIER FIELDS {field.name} first"
            raise AnalysisError("COLUMN_IN_USE", name=path_text(change.path), use="the primary key", way_out=way_out)
        return replace(field, required=change.required)

    def _with_default(self, field: NestedField, change: SetDefault) -> NestedField:
        if change.value is not None and self._format_version < 3:
            raise _refused(change.path, "default values need format version 3. Upgrade the table")
        return replace(field, write_default=change.value)

    def _replace(self, change: ReplaceColumns) -> None:
        for dropped in self.fields:
            self._require_outside_key(dropped, (dropped.name,))
        self.fields = ()
        for column in change.columns:
            self.apply(column)

    def _set_identifier_fields(self, paths: tuple[Path, ...]) -> None:
        ids = [self._field(path).id for path in paths]
        for path, id in zip(paths, ids, strict=True):
            if ids.count(id) > 1:
                raise AnalysisError(
                    "INVALID_PRIMARY_KEY", reason=f"the column {path_text(path)} is named twice. Name it once"
                )
        self.identifier_field_ids = tuple(sorted(ids))

    def _drop_identifier_fields(self, paths: tuple[Path, ...]) -> None:
        for path in paths:
            id = self._field(path).id
            if id not in self.identifier_field_ids:
                reason = f"the column {path_text(path)} is no part of it. Leave it out"
                raise AnalysisError("INVALID_PRIMARY_KEY", reason=reason)
            self.identifier_field_ids = tuple(one for one in self.identifier_field_ids if one != id)

    def _index(self, fields: Fields, path: Path) -> int:
        return _index(fields, path, self._case_sensitive)

    def _moved(self, fields: Fields, path: Path, position: Position) -> Fields:
        index = self._index(fields, path)
        field, others = fields[index], (*fields[:index], *fields[index + 1 :])
        if position.after is None:
            return (field, *others)
        behind = self._index(others, (*path[:-1], position.after)) + 1
        return (*others[:behind], field, *others[behind:])

    def _field(self, path: Path) -> NestedField:
        found: list[NestedField] = []

        def look(fields: Fields) -> Fields:
            found.append(fields[self._index(fields, path)])
            return fields

        self._at(path, look)
        return found[0]


def _edited(fields: Fields, path: Path, depth: int, edit: Callable[[Fields], Fields], case_sensitive: bool) -> Fields:
    if depth == len(path) - 1:
        return edit(fields)
    index = _index(fields, path, case_sensitive, depth)
    field = fields[index]
    if isinstance(field.type, MapType) and path[depth + 1].lower() == "key":
        raise _refused(path, "the keys of a map cannot be changed, since equal keys could come to differ")
    inner = nested_fields(field.type)
    if not inner:
        raise _refused(path, f"{path_text(path[: depth + 1])} of type {field.type} has no fields")
    edited = _edited(inner, path, depth + 1, edit, case_sensitive)
    return (*fields[:index], replace(field, type=_rebuilt(field.type, edited, path)), *fields[index + 1 :])


def _rebuilt(type: Type, fields: Fields, path: Path) -> Type:
    """The nested type with `fields` as children. Raises AnalysisError if a list or map lacks one, or has another."""
    match type:
        case StructType():
            if not fields:
                raise _refused(path, "a struct must keep a field. Drop the whole column")
            return StructType(fields)
        case ListType() if [field.name for field in fields] == ["element"]:
            return replace(type, element=fields[0].type, element_required=fields[0].required)
        case MapType() if [field.name for field in fields] == ["key", "value"]:
            return replace(type, value=fields[1].type, value_required=fields[1].required)
    raise _refused(path, "the element of a list and the value of a map cannot be added, dropped, renamed or moved")


def _find(fields: Fields, name: str, case_sensitive: bool) -> int | None:
    """The index of the field of that name, by the rules of `Schema.column`."""
    found = Schema(fields).column(name, case_sensitive)
    return None if found is None else fields.index(found)


def _index(fields: Fields, path: Path, case_sensitive: bool, depth: int = -1) -> int:
    index = _find(fields, path[depth], case_sensitive)
    if index is None:
        names = ", ".join(f"`{field.name}`" for field in fields)
        raise AnalysisError(
            "UNRESOLVED_COLUMN.WITH_SUGGESTION", name=path_text(path), where="the table", suggestions=names
        )
    return index


def _exists(fields: Fields, path: Path, case_sensitive: bool) -> bool:
    index = _find(fields, path[0], case_sensitive)
    if index is None:
        return False
    return len(path) == 1 or _exists(nested_fields(fields[index].type), path[1:], case_sensitive)


def _renamed(fields: Fields, change: RenameColumn, case_sensitive: bool) -> Fields:
    index = _index(fields, change.path, case_sensitive)
    if len(change.path) == 1 and change.name.lower() != fields[index].name.lower():
        require_own_names([change.name])
    others = {name_key(field.name, case_sensitive) for field in (*fields[:index], *fields[index + 1 :])}
    if name_key(change.name, case_sensitive) in others:
        raise AlreadyExistsError("FIELD_ALREADY_EXISTS", name=path_text((*change.path[:-1], change.name)))
    return (*fields[:index], replace(fields[index], name=change.name), *fields[index + 1 :])


def _same_shape(left: Type, right: Type) -> bool:
    """Whether two types have equal names, nullability and primitive types, whatever their ids and comments."""
    inner_left, inner_right = nested_fields(left), nested_fields(right)
    if not inner_left and not inner_right:
        return left == right
    return (
        type(left) is type(right)
        and [(f.name, f.required) for f in inner_left] == [(f.name, f.required) for f in inner_right]
        and all(_same_shape(a.type, b.type) for a, b in zip(inner_left, inner_right, strict=True))
    )


def _refused(path: Path, reason: str) -> AnalysisError:
    return AnalysisError("SCHEMA_CHANGE_REFUSED", name=path_text(path), reason=reason)


def _not_widened(path: Path, before: Type, after: Type, reason: str) -> AnalysisError:
    return AnalysisError("NOT_SUPPORTED_CHANGE_COLUMN", name=path_text(path), before=before, after=after, reason=reason)
