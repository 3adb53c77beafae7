"""Records the golden results on the Spark of this Python: `python -m golden.record [area ...]`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from golden.runner import area_names, record
from sessions import open_session


def main(areas: Sequence[str]) -> None:
    unknown = set(areas) - set(area_names())
    if unknown:
        sys.exit(f"no such area: {', '.join(sorted(unknown))}; there are {', '.join(area_names())}")
    with tempfile.TemporaryDirectory(prefix="sqlext-golden-") as folder:
        warehouse = Path(folder).resolve()
        spark = open_session(warehouse)
        for area in areas or area_names():
            started = time.monotonic()
            record(spark, warehouse, area)
            print(f"{area}: {time.monotonic() - started:.1f} s", flush=True)
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
