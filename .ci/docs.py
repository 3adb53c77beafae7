"""`python3 .ci/docs.py` makes the documentation's site in `build/site`, and says where.

A link that leads nowhere ends it. `SQLEXT_REPOSITORY` is the address below which the clone's files can be read.
"""

import subprocess
import sys
from pathlib import Path

import environment

environment.enter("docs")

CONFIG = Path(__file__).resolve().parent / "mkdocs.yml"


def main() -> int:
    """Builds the site; the exit code is that of MkDocs."""
    ended = subprocess.call([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(CONFIG)])
    if ended == 0:
        print(f"sqlext: python3 -m http.server -d {Path(environment.ROOT, 'build', 'site')}")
    return ended


if __name__ == "__main__":
    sys.exit(main())
