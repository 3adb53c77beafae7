"""A standalone cluster of Spark: a master and two workers, each a process that starts executors of its own."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from drivers.spark_servers import environment, spark_home
from free_port import free_port

_READY_S = 60


@contextmanager
def standalone_cluster(folder: Path, cores: int = 1, workers: int = 2) -> Iterator[str]:
    """The master's address."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    started = [_start(folder, "master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")]
    try:
        for number in range(workers):
            given = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", str(cores), "--memory", "1200m"]
            own = ["--work-dir", str(folder / f"work{number}")]
            started.append(_start(folder, "worker", *given, *own, address, log=f"worker{number}"))
        _await_workers(folder / "master.log", workers)
        yield address
    finally:
        for process in reversed(started):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait()


def executors() -> list[psutil.Process]:
    """The executors of all applications on this machine whose workers are children of this process."""
    running = [one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    return [one for one in running if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in one.cmdline()]


def _start(folder: Path, kind: str, *arguments: str, log: str | None = None) -> subprocess.Popen[bytes]:
    name = f"org.apache.spark.deploy.{kind}.{kind.title()}"
    with (folder / f"{log or kind}.log").open("w") as output:
        return subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), name, *arguments],
            stdout=output,
            stderr=output,
            cwd=folder,
            env=environment(),
        )


def _await_workers(log: Path, workers: int) -> None:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        if log.read_text().count("Registering worker") >= workers:
            return
        time.sleep(0.2)
    raise AssertionError(f"the workers do not register:\n{log.read_text()[-3000:]}")
