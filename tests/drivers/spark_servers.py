"""Spark's own front ends without a Python driver, started as a user does: from SPARK_HOME, with the shim's jar.

Each is a JVM of its own whose catalog `lake` keeps its tables in a folder; sqlext is told nothing else.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from free_port import free_port
from sqlext.spark.shim.shim_jar import shim_jar

_READY_S = 120
_STATEMENTS_S = 300
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
# The code cache that Java gives one compiler alone is full after some hundred statements, and then nothing more is
# compiled.
JAVA_OPTIONS = "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
_PORTS = {
    CONNECT: lambda port: ["--conf", f"spark.connect.grpc.binding.port={port}", "spark-internal"],
    THRIFT: lambda port: ["spark-internal", "--hiveconf", f"hive.server2.thrift.port={port}"],
}


def spark_home() -> Path:
    """The Spark of this Python."""
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def arguments(warehouse: Path, settings: Mapping[str, str] | None) -> list[str]:
    """Arguments of spark-submit and its like; `settings` are taken before those that are here."""
    chosen = {
        "spark.sql.catalog.lake": "io.sqlext.Catalog",
        # Golden results are of tables that do not look after themselves.
        "spark.sql.catalog.lake.care": "none",
        "spark.sql.catalog.lake.warehouse": str(warehouse),
        "spark.sql.warehouse.dir": str(warehouse / "spark-warehouse"),
        "spark.sqlext.python": sys.executable,
        "spark.pyspark.python": sys.executable,
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        **(settings or {}),
    }
    return [
        "--jars",
        str(shim_jar()),
        *(part for key, value in chosen.items() for part in ("--conf", f"{key}={value}")),
    ]


def environment() -> dict[str, str]:
    """Without what a PySpark driver leaves in its own environment, and without the path of this run's own modules."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK_", "PYTHONPATH"))}
    return {**own, "SPARK_HOME": str(spark_home()), "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}


def run(
    program: str,
    warehouse: Path,
    *given: str,
    settings: Mapping[str, str] | None = None,
    one_output: bool = False,
    timeout_s: float = _STATEMENTS_S,
) -> subprocess.CompletedProcess[str]:
    """A run of `spark-sql` or `spark-shell` with arguments of its own; with `one_output` errors are in its output."""
    command = [str(spark_home() / "bin" / program), *arguments(warehouse, settings), *given]
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if one_output else subprocess.PIPE,
        text=True,
        check=False,
        env=environment(),
        cwd=warehouse,
        timeout=timeout_s,
    )


@contextmanager
def server(main_class: str, warehouse: Path, settings: Mapping[str, str] | None = None) -> Iterator[int]:
    """A running server, CONNECT or THRIFT, and its port. Fails with its log if it ends before it listens."""
    port, log = free_port(), warehouse / "server.log"
    command = [str(spark_home() / "bin" / "spark-submit"), "--class", main_class, *arguments(warehouse, settings)]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, *_PORTS[main_class](port)],
            stdout=output,
            stderr=output,
            env=environment(),
            cwd=warehouse,
            start_new_session=True,
        )
        try:
            _await(process, port, log)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the server does not listen:\n{log.read_text()[-4000:]}")
