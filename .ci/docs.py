"""`python3 .ci/docs.py` makes the documentation's site in `build/site`, and says where.

A link that leads nowhere ends it. `SQLEXT_REPOSITORY` is the address below which the clone's files can be read.
"""

import os
import subprocess
import sys
from pathlib import Path

import environment

environment.enter("docs")

CONFIG = Path(__file__).resolve().parent / "mkdocs.yml"


def main() -> int:
    """Builds the site; the exit code is that of MkDocs."""
    # The theme tells its users of its successor, which is not for readers of these pages.
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(CONFIG)]
    ended = subprocess.call(command, env=quiet)
    if ended == 0:
        print(f"sqlext: python3 -m http.server -d {Path(environment.ROOT, 'build', 'site')}")
    return ended


if __name__ == "__main__":
    sys.exit(main())
