"""The mark that a session has of its transaction."""

from __future__ import annotations

import random
from pathlib import Path

from sqlext.spark.session.open_transactions import OpenTransactions
from unit.command.lake import Lake, refused


def test_a_transaction_that_began_in_another_process_is_lost(tmp_path: Path) -> None:
    catalogs = Lake(tmp_path).environment.catalogs
    before, now = (OpenTransactions(catalogs, random.Random(seed)) for seed in (1, 2))
    now.require_kept(None)
    now.require_kept(now.mark("session"))
    with refused("TRANSACTION_LOST"):
        now.require_kept(before.mark("session"))
