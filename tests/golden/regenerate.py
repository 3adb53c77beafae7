"""Rewrites the golden results: `python3 tests/golden/regenerate.py [area ...]`. Read the diff before you commit it.

`python3 tests/matrix/run.py --regenerate` does so for other versions of Spark.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

from golden.record import main

if __name__ == "__main__":
    main(sys.argv[1:])
