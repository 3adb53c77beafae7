"""Whether a MERGE keeps the keys of the rows that it updates."""

from __future__ import annotations

import pytest

from sqlext.sql.bound_merge import bind_merge
from sqlext.sql.lowering.merge_scope import keeps_keys
from unit.sql.lowering.orders import SCHEMA, SOURCE, read


@pytest.mark.parametrize(
    ("condition", "clauses", "kept"),
    [
        ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET *", True),
        ("s.id = t.id AND t.qty > s.qty", "WHEN MATCHED THEN UPDATE SET *", True),
        ("t.id = s.id OR t.qty = s.qty", "WHEN MATCHED THEN UPDATE SET *", False),
        ("t.qty = s.qty", "WHEN MATCHED THEN UPDATE SET *", False),
        ("t.id = s.id + 1", "WHEN MATCHED THEN UPDATE SET *", False),
        ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET id = s.id, qty = 1", True),
        ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET id = s.qty", False),
        ("t.id = s.id AND t.id = s.qty", "WHEN MATCHED THEN UPDATE SET id = s.qty", True),
        ("t.qty = s.qty", "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *", True),
        ("t.id = s.id", "WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = 1", False),
        ("t.id = s.id", "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET qty = 0", True),
    ],
)
def test_updated_rows_keep_their_keys(condition: str, clauses: str, kept: bool) -> None:
    bound = bind_merge(read(f"MERGE INTO t USING s ON {condition} {clauses}"), SCHEMA, SOURCE)
    assert keeps_keys(bound) == kept
