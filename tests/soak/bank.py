"""The bank for long: `python3 tests/soak/bank.py [--catalog folder|sqlite|postgres] [--writers 8] [--kills 100]`.

Writers move money between three tables in transactions and are killed while they do; no money may be lost or made.
"""

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from catalog.bank import ACCOUNTS, DEPOSIT, Opener, open_bank, open_hasty, run_bank
from catalog.postgres_server import PostgresServer
from sqlext.catalog.catalog_settings import open_catalog


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--catalog", choices=("folder", "sqlite", "postgres"), default="folder")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--transfers", type=int, default=100, help="of each writer")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        server = PostgresServer(folder / "postgres") if given.catalog == "postgres" else None
        try:
            opener = opener_of(given.catalog, folder, server)
            open_bank(opener())
            run = run_bank(
                opener, folder, writers=given.writers, transfers=given.transfers, kills=given.kills, seed=given.seed
            )
        finally:
            if server is not None:
                server.stop()
    print(f"{run.acknowledged} transfers, {run.killed} writers killed, balances {run.balances}", flush=True)
    return 0 if sum(run.balances) == DEPOSIT * len(ACCOUNTS) else 1


def opener_of(kind: str, folder: Path, server: PostgresServer | None) -> Opener:
    if kind == "folder":
        return partial(open_hasty, folder / "w")
    options = {"type": "jdbc", "uri": f"jdbc:sqlite:{folder}/catalog.db", "warehouse": str(folder / "w")}
    return partial(open_catalog, "lake", options if server is None else {**options, **server.new_database()})


if __name__ == "__main__":
    sys.exit(main())
