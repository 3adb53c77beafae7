"""Converts equality deletes, and is killed at one file that it makes: `python converting_process.py <folder>`.

Each step has a table in a folder of its own, named `<format version>-<before or after>-<number of the file>`, and a
process that is forked for it. Each line says which folder, and whether its process was killed.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from small_tables import InterruptedIO, Writer, warehouse_catalog
from unit.commit.actions.test_delete_file_rewrite import Converted

MOST_FILES = 9


def convert(folder: Path, format_version: int, moment: str, number: int) -> None:
    converted = Converted(folder, format_version)
    made = 0

    def die(location: str, create: Callable[[], None]) -> None:
        nonlocal made
        made += 1
        if made == number and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        create()
        if made == number:
            os.kill(os.getpid(), signal.SIGKILL)

    writer = Writer(warehouse_catalog(folder, InterruptedIO(die)), seed=3)
    writer.commit(converted.conversion(), base=converted.base)


def was_killed(folder: Path, format_version: int, moment: str, number: int) -> bool:
    process = os.fork()
    if process == 0:
        convert(folder, format_version, moment, number)
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


for format_version in (2, 3):
    for moment in ("before", "after"):
        for number in range(1, MOST_FILES + 1):
            folder = Path(sys.argv[1]) / f"{format_version}-{moment}-{number}"
            killed = was_killed(folder, format_version, moment, number)
            print(folder.name, "killed" if killed else "done", flush=True)
            if not killed:
                break
