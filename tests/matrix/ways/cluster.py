"""A Python driver with two executors in other processes: `python -m matrix.ways.cluster WAREHOUSE ABILITY…`.

The executors' Python has all packages but sqlext."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from cluster.worker_python import worker_python
from matrix.ways import driver

MASTER = "local-cluster[2,1,1024]"
_SETTINGS = {
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.sqlext.manifests-on-driver.max-bytes": "1",
}


def main(warehouse: str, *names: str) -> None:
    os.environ["PYSPARK_PYTHON"] = str(worker_python(Path(warehouse) / "worker"))
    driver.main(warehouse, *names, master=MASTER, **_SETTINGS)


if __name__ == "__main__":
    main(*sys.argv[1:])
