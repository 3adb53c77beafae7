"""The console spark-sql: `python -m matrix.ways.spark_sql WAREHOUSE ABILITY…`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from drivers.spark_servers import run
from matrix.attempts import tell
from matrix.ways.chosen import chosen
from matrix.ways.in_console import attempts, statements

_TIME = re.compile(r"Time taken: .*")
_ERROR = re.compile(r"Error in query|(\S+Exception: )?\[[A-Z]")


def main(warehouse: str, *names: str) -> None:
    folder = Path(warehouse)
    script = folder / "abilities.sql"
    script.write_text("".join(f"{one};\n" for one in statements(chosen(names))))
    going_on = ["--hiveconf", "hive.cli.errors.ignore=true"]
    done = run("spark-sql", folder, *going_on, "-f", str(script), one_output=True, timeout_s=1800)
    lines = [line for line in done.stdout.splitlines() if not _TIME.fullmatch(line)]
    tell(attempts(chosen(names), lines, _ERROR))


if __name__ == "__main__":
    main(*sys.argv[1:])
