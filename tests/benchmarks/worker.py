"""One system's process: runs the suites it is asked for and prints one JSON line per result."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.suites import SUITES
from benchmarks.systems import SYSTEMS


def main() -> None:
    request = json.loads(sys.argv[1])
    os.environ["TZ"] = "UTC"
    time.tzset()
    # the JVM inherits standard output and may write to it: results go to a private copy
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    system = SYSTEMS[request["system"]]
    with tempfile.TemporaryDirectory(prefix=f"{system.name}-", dir=request["work"]) as warehouse:
        spark = system.open_session(Path(warehouse), request["settings"])
        size = (request["scale"], request["repeats"], request["rounds"], request["modes"])
        bench = Bench(system, spark, Path(request["data"]), *size)
        for suite in request["suites"]:
            for result in SUITES[suite](bench):
                results.write(json.dumps(asdict(result)) + "\n")
                results.flush()
        spark.stop()


if __name__ == "__main__":
    main()
