"""`python -m sqlext.serve`: the Python side of a Spark application that has no Python driver.

The shim starts it as a child process, with the address of a Py4J gateway in its environment, see `PythonProcess.scala`.
It writes one line to standard output once it is attached, `{}` or an error, and ends when its standard input does.
"""

from __future__ import annotations

import os
import signal
import sys

import pyspark

from sqlext.errors import SqlextError, UnsupportedError
from sqlext.spark.bridge.bridge import error_json
from sqlext.spark.bridge.gateway import session_of_parent
from sqlext.spark_session import attach


def main() -> int:
    """Attaches the Python side and serves until the JVM is gone."""
    try:
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            raise UnsupportedError("NOT_A_CHILD_OF_SPARK")
        spark = session_of_parent()
        if spark.version.split(".")[:2] != pyspark.__version__.split(".")[:2]:
            raise UnsupportedError("PYSPARK_DIFFERS", spark=spark.version, pyspark=pyspark.__version__)
        attach(spark)
    except SqlextError as refused:
        print(error_json(refused), flush=True)
        return 1
    # Ctrl-C in a terminal reaches both processes; the JVM cancels the statement, and this one cleans up after it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("{}", flush=True)
    sys.stdin.read()
    os._exit(0)  # threads that serve the JVM wait for it


if __name__ == "__main__":
    sys.exit(main())
