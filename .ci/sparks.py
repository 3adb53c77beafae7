"""Releases of Spark: PySpark's source archive, a wheel of it, and its jars.

A version such as 4.1 stands for its newest release, one such as 4.1.0 for itself.
"""

import glob
import os
import subprocess
import sys
import tarfile

import environment

FOLDER = os.path.join(environment.ROOT, "build", "sparks")


def archive(version: str) -> str:
    """The path of the archive, which pip fetches once (some 450 MB)."""
    folder = os.path.join(FOLDER, version)
    found = glob.glob(os.path.join(folder, "pyspark-*.tar.gz"))
    if not found:
        print("sqlext: fetching pyspark " + version, file=sys.stderr, flush=True)
        release = version + ".*" if version.count(".") == 1 else version
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.check_call([*command, "--no-binary", "pyspark", "-d", folder, "pyspark==" + release])
        found = glob.glob(os.path.join(folder, "pyspark-*.tar.gz"))
    return found[0]


def jars(version: str) -> str:
    """The folder of its jars, unpacked once."""
    whole = archive(version)
    folder = whole[: -len(".tar.gz")] + "/deps/jars"
    if not os.path.isdir(folder):
        with tarfile.open(whole) as members:
            members.extractall(os.path.dirname(whole), [one for one in members if "/deps/jars/" in one.name])
    return folder


def wheel(version: str) -> str:
    """The path of a wheel for all Pythons, which pip makes of the archive once: each environment takes it as it is."""
    whole = archive(version)
    folder = os.path.dirname(whole)
    found = glob.glob(os.path.join(folder, "pyspark-*.whl"))
    if not found:
        print("sqlext: making a wheel of pyspark " + version, file=sys.stderr, flush=True)
        # The archive has no pyproject.toml: a pip before 23.1 would want the package wheel in this environment.
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--use-pep517"]
        subprocess.check_call([*pip, "--no-deps", "-w", folder, whole])
        found = glob.glob(os.path.join(folder, "pyspark-*.whl"))
    return found[0]
