"""beeline, a client of the Thrift server over JDBC."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from drivers.spark_servers import environment, spark_home

PROMPT = re.compile(r"0: jdbc:[^>]*> ")
"""What it prints before each statement."""


def beeline(
    port: int, *statements: str, options: Sequence[str] = (), one_output: bool = False
) -> subprocess.Popen[str]:
    """A running beeline that prints rows as CSV. With `one_output` its errors are printed among them."""
    command = [str(spark_home() / "bin" / "beeline"), "-u", f"jdbc:hive2://127.0.0.1:{port}", "-n", "ada"]
    shown = ["--outputformat=csv2", "--showHeader=false", "--silent=true"]
    given = [part for statement in statements for part in ("-e", statement)]
    return subprocess.Popen(
        [*command, *shown, *options, *given],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if one_output else subprocess.PIPE,
        text=True,
        env=environment(),
    )
