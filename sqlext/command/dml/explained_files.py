"""The files of a change in EXPLAIN: which it would read, by manifests alone, and about what it would write."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.command.change.enforced_key import is_enforced
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.metadata_delete import covered_files
from sqlext.command.change.row_change import has_new_rows
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import COPIES, Way
from sqlext.scan.read_files import ReadFiles, read_files
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.scan.pushdown import predicate_of
from sqlext.spark.scan.read_tables import scanned_tables
from sqlext.spec.expression import AlwaysTrue, Predicate, disjunction

_MOST_TABLES = 20
# What these ways do is not what the shown query would: they remove files that metadata decides, and read others.
_BY_METADATA = (Way.DELETE_ALL, Way.METADATA_DELETE, Way.PARTIAL_METADATA_DELETE)
_OVERWRITES = (Way.OVERWRITE, Way.OVERWRITE_PARTITIONS, Way.OVERWRITE_WHERE)


def file_lines(environment: Environment, explained: Explanation) -> Iterator[str]:
    """The lines: what is read, what is removed, and an estimate of what is written. Files that are not manifests, and
    in a large table manifests too, are not read for it."""
    yield from _read(environment, explained)
    yield from _removed(environment, explained)
    yield from _written(environment, explained)


# Reads


def _read(environment: Environment, explained: Explanation) -> Iterator[str]:
    target, way = explained.target, explained.plan.way
    if way in _BY_METADATA:
        undecided = [] if way is Way.DELETE_ALL else _covered(environment, explained)[1]
        if undecided:
            yield f"reads from {_of_tasks(undecided)} of {target.name}"
        else:
            yield f"reads no data file of {target.name}"
        return
    handles = scanned_tables(explained.rows)
    for handle, filters in list(handles.items())[:_MOST_TABLES]:
        if handle.metadata_table is None:
            version = environment.catalogs.version(handle)
            predicate = disjunction(predicate_of(one, version.schema) for one in filters)
            yield f"reads from {_counted(_files(environment, version, predicate), handle.full_name)}"
    if len(handles) > _MOST_TABLES:
        yield f"reads from {len(handles) - _MOST_TABLES} more tables"
    if way is Way.LOOK_UP:
        yield f"looks up the keys of the source in {_at_most(environment, target)}, of which it reads the key columns"
    elif way is Way.APPEND and is_enforced(target.table.metadata):
        yield f"looks up the new keys in {_at_most(environment, target)}, of which it reads the key columns"
    elif all(handle.table_uuid != target.table.metadata.table_uuid for handle in handles):
        yield f"reads no data file of {target.name}"


def _files(environment: Environment, version: TableVersion, predicate: Predicate) -> ReadFiles:
    return read_files(
        version.io,
        version.metadata,
        version.snapshot,
        predicate,
        manifests=environment.scans.manifests,
        most_files=environment.planning.thresholds.planned_files,
    )


def _counted(found: ReadFiles, name: str) -> str:
    if found.by_manifests:
        return (
            f"at most {found.files:,} of {found.of_files:,} data files of {name}, by the bounds of manifests alone, as"
            " they have more files than sqlext.plan.planned-files"
        )
    deletes = ""
    if found.delete_files:
        deletes = f" and {_number(found.delete_files, 'delete file')} ({found.delete_bytes:,} bytes)"
    return f"{found.files:,} of {_number(found.of_files, 'data file')} ({found.bytes:,} bytes){deletes} of {name}"


def _at_most(environment: Environment, target: Target) -> str:
    """All files of the target. Which ones can have a key is known only once the source's rows are."""
    count = environment.scans.data_file_count(target.version)
    return f"at most {_number(count, 'data file')} of {target.name}"


def _of_tasks(tasks: list[FileScanTask]) -> str:
    return f"{_number(len(tasks), 'data file')} ({sum(task.file.file_size_in_bytes for task in tasks):,} bytes)"


def _covered(environment: Environment, explained: Explanation) -> tuple[list[FileScanTask], list[FileScanTask]]:
    """The files that a DELETE by metadata removes unread, and those that it reads."""
    change = explained.change
    assert change is not None
    assert change.row_filter is not None
    covered = covered_files(environment, explained.target, change.row_filter)
    return list(covered.whole), list(covered.undecided)


# Removals and writes


def _removed(environment: Environment, explained: Explanation) -> Iterator[str]:
    target, way = explained.target, explained.plan.way
    if way in (Way.DELETE_ALL, Way.OVERWRITE):
        yield f"removes all {_number(environment.scans.data_file_count(target.version), 'data file')} unread"
    elif way in (Way.METADATA_DELETE, Way.PARTIAL_METADATA_DELETE):
        yield f"removes {_of_tasks(_covered(environment, explained)[0])} unread"
    elif way is Way.OVERWRITE_WHERE and explained.replaced is not None:
        found = _files(environment, target.version, explained.replaced)
        yield f"removes rows of {_counted(found, str(target.name))}: whole files where all rows match"
    elif way is Way.OVERWRITE_PARTITIONS:
        yield "removes the files of the partitions that get rows, which only the rows tell"


def _written(environment: Environment, explained: Explanation) -> Iterator[str]:
    way, has_rows = explained.plan.way, _has_new_rows(explained)
    new = f"{_expected(environment, explained)} to new data files"
    marks = _marks(explained.target)
    if way in (Way.DELETE_ALL, Way.METADATA_DELETE):
        yield "writes no data file"
    elif way is Way.PARTIAL_METADATA_DELETE:
        yield f"writes {marks} for rows of the files that are read"
    elif way in (Way.APPEND, Way.INSERT_ONLY, *_OVERWRITES):
        yield f"writes {new}"
    elif way is Way.EQUALITY:
        yield f"writes {new}, and equality deletes of their keys"
    elif way in COPIES:
        also = f", and {new}" if has_rows and _may_insert(explained) else ""
        yield f"rewrites {_touched(environment, explained)}{also}"
    elif way is Way.AUTO:
        yield f"rewrites {_touched(environment, explained)}, or writes {marks} and new rows, as execution decides"
    elif has_rows:
        yield f"writes {new}, and {marks} for the rows that they replace"
    else:
        yield f"writes {marks} for {_expected(environment, explained, sizes=False)}"


def _has_new_rows(explained: Explanation) -> bool:
    return explained.change is None or has_new_rows(explained.rows)


def _may_insert(explained: Explanation) -> bool:
    """Whether new rows do not all take the place of rows in rewritten files, as those of an UPDATE or DELETE do."""
    change = explained.change
    return change is not None and (change.distinct_keys or change.row_names is not None)


def _touched(environment: Environment, explained: Explanation) -> str:
    """The files that a rewrite may replace: those of its target that the query reads."""
    target = explained.target
    found = _files(environment, target.version, _read_predicate(explained))
    size = "" if found.by_manifests else f" ({found.bytes:,} bytes)"
    return f"those of at most {_number(found.files, 'data file')}{size} that hold a changed row"


def _expected(environment: Environment, explained: Explanation, *, sizes: bool = True) -> str:
    """The expected rows in words, with their bytes by the average row of the table if it has rows."""
    about, expected = "about", explained.expected_rows
    if expected is None and explained.change is not None:
        about, expected = "at most", _read_rows(environment, explained)
    elif not expected and (explained.change is None or _read_rows(environment, explained)):
        expected = 1  # an estimate by size, which is less than a row
    if expected is None:
        return "a number of rows that only execution tells"
    return f"{about} {_number(expected, 'row')}{_bytes(explained.target, expected) if sizes else ''}"


def _read_rows(environment: Environment, explained: Explanation) -> int | None:
    """The rows of the target in the files that the query reads; None if these are not listed."""
    found = _files(environment, explained.target.version, _read_predicate(explained))
    return None if found.by_manifests else found.rows


def _read_predicate(explained: Explanation) -> Predicate:
    """A predicate that all rows of the target match that the query needs."""
    target = explained.target
    uuid = target.table.metadata.table_uuid
    found = [
        predicate_of(one, target.version.schema)
        for handle, filters in scanned_tables(explained.rows).items()
        if handle.table_uuid == uuid
        for one in filters
    ]
    return disjunction(found) if found else AlwaysTrue()


def _bytes(target: Target, rows: int) -> str:
    summary = {} if target.version.snapshot is None else target.version.snapshot.summary
    size, count = (summary.get(name, "") for name in ("total-files-size", "total-records"))
    if not (size.isdecimal() and count.isdecimal() and int(count)):
        return ""
    return f" ({-(-rows * int(size) // int(count)):,} bytes by the table's average)"


def _marks(target: Target) -> str:
    return "deletion vectors" if target.table.metadata.format_version > 2 else "position deletes"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
