"""The Thrift server, with beeline as its client over JDBC: `python -m matrix.ways.thrift WAREHOUSE ABILITY…`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from drivers.beeline import PROMPT, beeline
from drivers.spark_servers import THRIFT, server
from matrix.attempts import tell
from matrix.ways.chosen import chosen
from matrix.ways.in_console import attempts, statements

_ERROR = re.compile(r"Error: ")


def main(warehouse: str, *names: str) -> None:
    with server(THRIFT, Path(warehouse)) as port:
        going_on = ["--force=true", "--entireLineAsCommand=true", "--outputformat=tsv2"]
        client = beeline(port, *statements(chosen(names)), options=going_on, one_output=True)
        printed, _ = client.communicate(timeout=1800)
    tell(attempts(chosen(names), PROMPT.sub("", printed).splitlines(), _ERROR))


if __name__ == "__main__":
    main(*sys.argv[1:])
