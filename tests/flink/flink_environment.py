"""The real Flink with Iceberg's sink: a Python environment of its own, from PyPI and Maven alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from maven import fetch_jars

# Without what they depend on: the Table API runs in the JVM and needs none of PyFlink's Beam, pandas and the like.
PACKAGES = (
    "apache-flink==2.1.3",
    "apache-flink-libraries==2.1.3",
    "py4j==0.10.9.7",
    "cloudpickle",
    "python-dateutil",
    "pytz",
    "ruamel.yaml",
    "six",
    "typing_extensions",
)
JARS = (
    ("org.apache.iceberg", "iceberg-flink-runtime-2.1", "1.11.0"),
    ("org.apache.hadoop", "hadoop-client-api", "3.4.2"),
    ("org.apache.hadoop", "hadoop-client-runtime", "3.4.2"),
    ("commons-logging", "commons-logging", "1.2"),
)
# Those that the wheel of apache-flink is there for.
PYTHONS = ("python3.12", "python3.11", "python3.10", "python3.9")


def flink_python(folder: Path) -> str:
    """The Python of an environment with Flink, which is made in `folder` on first use."""
    python, done = folder / "venv" / "bin" / "python", folder / "done.json"
    wanted = json.dumps([PACKAGES, JARS])
    if done.exists() and done.read_text() == wanted:
        return str(python)
    print("Flink comes from PyPI and Maven (some 350 MB, once)", flush=True)
    outer = sys.executable if sys.version_info < (3, 13) else next(filter(None, map(shutil.which, PYTHONS)), None)
    if outer is None:
        sys.exit(f"Flink's package is for an older Python: one of {', '.join(PYTHONS)} must be on the PATH")
    subprocess.run([outer, "-m", "venv", "--clear", str(folder / "venv")], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", *PACKAGES], check=True)
    (lib,) = (folder / "venv").glob("lib/python*/site-packages/pyflink/lib")
    for jar in JARS:
        fetch_jars(jar, lib, transitive=False)
    done.write_text(wanted)
    return str(python)
