"""Jars from Maven, by the Ivy that is among Spark's own jars."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pyspark


def fetch_jars(module: Sequence[str], folder: Path, *, transitive: bool) -> None:
    """Puts a module, given as its group, name and version, into `folder`; `transitive`: with all that it needs."""
    java, ivy = Path(os.environ["JAVA_HOME"], "bin", "java"), folder.parent / "ivy"
    command = [str(java), "-cp", f"{Path(pyspark.__file__).parent}/jars/*", "org.apache.ivy.Main"]
    command += ["-dependency", *module, "-confs", "default", "-cache", str(ivy)]
    command += ["-retrieve", f"{folder}/[artifact]-[revision].[ext]", *([] if transitive else ["-notransitive"])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{':'.join(module)} cannot be had from Maven:\n{done.stdout[-3000:]}")
