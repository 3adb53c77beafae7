"""ADD, MODIFY and DROP PRIMARY KEY, as far as no row has to be looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.ddl.alter_key import add_primary_key, drop_primary_key
from sqlext.commit.actions.reference_change import CreateReference
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _add(lake: Lake, clause: str) -> None:
    add_primary_key(lake.environment, None, read(f"ALTER TABLE t {clause}"))


def _drop(lake: Lake, clause: str = "DROP PRIMARY KEY") -> None:
    drop_primary_key(lake.environment, None, read(f"ALTER TABLE t {clause}"))


def _key(lake: Lake) -> tuple[str, ...]:
    schema = lake.load().metadata.schema()
    return tuple(schema.column_name(id) for id in schema.identifier_field_ids)


def test_required_columns_become_a_key_without_a_look_at_the_rows(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT NOT NULL, `b.c` INT NOT NULL)")
    lake.append(a=[1, 1], **{"b.c": [1, 1]})
    _add(lake, "ADD PRIMARY KEY (`b.c`, a) RELY")
    assert _key(lake) == ("a", "b.c")
    assert lake.load().metadata.properties["identifier-fields.rely"] == "true"
    _add(lake, "MODIFY PRIMARY KEY (a)")
    assert _key(lake) == ("a",)
    assert "identifier-fields.rely" not in lake.load().metadata.properties
    _drop(lake)
    assert _key(lake) == ()
    assert lake.load().metadata.schema().fields[0].required, "what was required stays so"


def test_keys_that_are_refused(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT NOT NULL, b INT, d DOUBLE NOT NULL)")
    lake.append(a=[1], b=[None], d=[1.0])
    lake.commit(CreateReference("audit", "branch", None))
    with refused("INVALID_PRIMARY_KEY", "branch audit", "null in b"):
        _add(lake, "ADD PRIMARY KEY (a, b)")
    with refused("INVALID_PRIMARY_KEY"):
        _add(lake, "ADD PRIMARY KEY (d)")
    with refused("UNRESOLVED_COLUMN.WITH_SUGGESTION", "c"):
        _add(lake, "ADD PRIMARY KEY (c)")
    _add(lake, "ADD PRIMARY KEY (a)")
    with refused("INVALID_PRIMARY_KEY", "MODIFY"):
        _add(lake, "ADD PRIMARY KEY (a)")


def test_the_key_of_a_table_in_buckets_stays(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT, b INT NOT NULL, PRIMARY KEY (a)) TBLPROPERTIES ('bucket'='2')")
    with refused("INVALID_PRIMARY_KEY", "lake.db.t", "buckets"):
        _add(lake, "MODIFY PRIMARY KEY (a, b)")
    with refused("INVALID_BUCKETS"):
        _drop(lake)


def test_a_table_without_a_key_has_none_to_drop(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT)")
    location = lake.load().metadata_location
    with refused("INVALID_PRIMARY_KEY", "lake.db.t", "IF EXISTS"):
        _drop(lake)
    _drop(lake, "DROP PRIMARY KEY IF EXISTS")
    assert lake.load().metadata_location == location


def test_a_key_is_that_of_the_whole_table(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT NOT NULL)")
    lake.append(a=[1])
    lake.commit(CreateReference("audit", "branch", None))
    with refused("EXPECT_TABLE_NOT_PART", "branch audit"):
        add_primary_key(lake.environment, None, read("ALTER TABLE lake.db.t.branch_audit ADD PRIMARY KEY (a)"))
