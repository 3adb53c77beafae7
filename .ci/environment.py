"""Makes a fresh clone runnable: `environment.enter("test")` returns inside `.venv` with Java found, or ends in a line.

Standard library only and no syntax newer than Python 3.6, so that an old Python gets a sentence, not a SyntaxError.
Writes only to `.venv` in the clone; pip and uv keep their usual caches.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
from typing import List, NoReturn, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
OLDEST_PYTHON = (3, 10)
PYTHON_NAMES = [f"python3.{minor}" for minor in (13, 12, 11, 10, 14)] + ["python3", "python"]
JAVA_VERSIONS = (17, 21)
# Linux puts a link to the chosen Java on PATH, so its folder has others only where there is one; macOS does not.
LINUX_JAVA_FOLDERS = ("/usr/lib/jvm/*",)
MAC_JAVA_FOLDERS = (
    "/opt/homebrew/opt/openjdk@*",
    "/usr/local/opt/openjdk@*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)


def enter(extra: str) -> None:
    """Returns once this process is the clone's Python with `.[extra]` installed; re-executes the script till then."""
    os.environ["JAVA_HOME"] = java_home()
    python = venv_python()
    if os.path.realpath(sys.prefix) != os.path.realpath(VENV):
        create_venv(python)
        restart(python)
    # A running Python does not find a package that was installed after it started.
    if install(python, extra):
        restart(python)


def restart(python: str) -> None:
    sys.stdout.flush()
    os.execv(python, [python, *sys.argv])


def fail(message: str) -> NoReturn:
    sys.exit("sqlext: " + message)


def venv_python() -> str:
    return os.path.join(VENV, "bin", "python")


# Python


def answer(command: List[str]) -> Optional[str]:
    """What a command prints (both streams), or None where it cannot run or fails."""
    try:
        done = subprocess.run(  # `text=` is newer than 3.6
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def suitable_python() -> str:
    """A Python of 3.10 or newer: the running one if it will do, else the first on PATH."""
    if sys.version_info >= OLDEST_PYTHON:
        return sys.executable
    for name in PYTHON_NAMES:
        path = shutil.which(name)
        if path and answer([path, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]) is not None:
            return path
    fail(
        f"Python 3.10 or newer is needed; this is {sys.version.split()[0]} and PATH has no newer one."
        f" Install it with: {install_command('python')}"
    )


def create_venv(python: str) -> None:
    if answer([python, "-c", "import pip, sys; sys.exit(sys.version_info < (3, 10))"]) is not None:
        return
    outer = suitable_python()
    if answer([outer, "-c", "import venv, ensurepip"]) is None:
        version = (answer([outer, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]) or "3").strip()
        fail(f"{outer} has no ensurepip to make a .venv. Install it with: {install_command('venv', version)}")
    print(f"sqlext: creating {VENV}")
    if subprocess.call([outer, "-m", "venv", "--clear", VENV]) != 0:
        fail(f"{outer} -m venv {VENV} failed; its message stands above.")


def install(python: str, extra: str) -> bool:
    """Installs the clone with `extra`, once for each content of pyproject.toml; False where it was there."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as project:
        wanted = hashlib.sha256(project.read()).hexdigest()
    stamp = os.path.join(VENV, f"sqlext-{extra}.stamp")
    if os.path.exists(stamp):
        with open(stamp) as done:
            if done.read() == wanted:
                return False
    print(f"sqlext: installing the clone with its '{extra}' extra into .venv (a minute or two, once)", flush=True)
    clone = ["-e", f"{ROOT}[{extra}]"]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    uv = [python, "-m", "uv", "--quiet", "pip", "install", "--python", python]
    # uv takes a minute where pip takes five, for PySpark's archive of 450 MB. pip has an index of its own settings.
    if subprocess.call([*pip, "uv"]) != 0 or subprocess.call([*uv, *clone]) != 0:
        print("sqlext: installing with pip, as uv could not", flush=True)
        if subprocess.call([*pip, *clone]) != 0:
            fail("pip install failed; its message stands above. Run the command again when the network is there.")
    with open(stamp, "w") as done:
        done.write(wanted)
    return True


# Java


def java_version(home: str) -> Optional[int]:
    """Major version of the Java in a folder, or None."""
    said = answer([os.path.join(home, "bin", "java"), "-version"])
    match = re.search(r'version "(?:1\.)?(\d+)', said or "")
    return int(match.group(1)) if match else None


def java_homes() -> List[str]:
    """Folders that may have a Java: JAVA_HOME, that of PATH, then where systems keep the others."""
    candidates = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
    on_path = shutil.which("java")
    if on_path:
        candidates.append(os.path.dirname(os.path.dirname(os.path.realpath(on_path))))
    for pattern in (LINUX_JAVA_FOLDERS if candidates else ()) + MAC_JAVA_FOLDERS:
        candidates.extend(sorted(glob.glob(pattern)))
    return candidates


def java_home() -> str:
    """Folder of a Java 17 or 21, the first of `java_homes`."""
    found = {}
    for home in java_homes():
        version = java_version(home)
        if version in JAVA_VERSIONS:
            return home
        if version:
            found[version] = home
    versions = " and ".join(str(version) for version in sorted(found))
    seen = f"only Java {versions} was found" if found else "no Java was found"
    fail(f"Java 17 or 21 is needed and {seen}. Install it with: {install_command('java')}")


# What the running system calls its packages

PACKAGES = (
    (
        "apt-get",
        "apt-get update && {sudo}apt-get install -y {name}",
        {"venv": "python{version}-venv", "python": "python3"},
    ),
    ("dnf", "dnf install -y {name}", {"java": "java-21-openjdk-headless", "python": "python3.12"}),
    ("zypper", "zypper install -y {name}", {"java": "java-17-openjdk-headless", "python": "python312"}),
    ("pacman", "pacman -S --noconfirm {name}", {"java": "jre21-openjdk-headless", "python": "python"}),
    ("apk", "apk add {name}", {"java": "openjdk21-jre-headless", "python": "python3"}),
    ("brew", "brew install {name}", {"java": "openjdk@21", "python": "python@3.12"}),
)


def debian_java() -> str:
    """Debian 13 dropped 17; older Debians and Ubuntus have no 21 or have both."""
    try:
        with open("/etc/os-release") as release:
            text = release.read()
    except OSError:
        text = ""
    match = re.search(r'^VERSION_ID="?(\d+)', text, re.M)
    newer_debian = re.search(r"^ID=debian$", text, re.M) and match and int(match.group(1)) >= 13
    return "openjdk-21-jre-headless" if newer_debian else "openjdk-17-jre-headless"


def install_command(what: str, version: str = "3") -> str:
    """The command that installs `what` ('java', 'python', 'venv') with the package tool of the system."""
    for tool, template, names in PACKAGES:
        if not shutil.which(tool, path=os.pathsep.join((os.environ.get("PATH", ""), os.defpath))):
            continue
        name = debian_java() if tool == "apt-get" and what == "java" else names.get(what, names["python"])
        root = tool == "brew" or not hasattr(os, "geteuid") or os.geteuid() == 0
        sudo = "" if root else "sudo "
        return sudo + template.format(sudo=sudo, name=name.format(version=version))
    return {
        "java": "a JDK 17 or 21 from https://adoptium.net, and set JAVA_HOME to its folder",
        "python": "Python from https://www.python.org/downloads",
        "venv": "Python from https://www.python.org/downloads",
    }[what]
