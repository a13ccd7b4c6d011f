"""The machine that tests may rely on: a bare one, whatever is installed on the real one.

Tests, and the snippets of the documentation, find the programs of the virtual environment and those
that every Debian has, and the variables that every session has. What is installed or set locally
by hand is out of their sight, so that relying on it fails here and not only at a newcomer's.

Programs that not every machine has are asked for by name with `find_tool`. Where one is missing the
test is skipped; in CI, which installs them all, a skip that `EXPECTED_SKIPS` lacks is a failure.

What is left in temporary folders, by processes that tests kill for instance, is removed after the
run. The folders of tests that failed are kept where pytest keeps them.
"""

import atexit
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

# Of packages of Debian that are essential or required.
_BASE = """
    awk basename bash cat chmod chown cmp cp cut date dd df diff dirname du echo egrep env expr
    false find getent grep gzip head hostname id kill ln locale ls mkdir mktemp mount mv nice
    nohup nsenter printf pwd readlink realpath rm rmdir sed seq sh sleep sort stat stty sync
    tail tar tee test timeout touch tr true truncate tty umount uname uniq useradd wc whoami
    xargs yes
"""

OPTIONAL = {
    "cc": "gcc",
    "chromium": "chromium",
    "ip": "iproute2",
    "kcat": "kcat",
    "mariadb-install-db": "mariadb-server",
    "mariadbd": "mariadb-server",
    "openssl": "openssl",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "systemd-analyze": "systemd",
    "git": "git",
}
"""Programs that some tests run, and the packages of Debian that have them."""

EXPECTED_SKIPS = re.compile(
    "about the kernel|this library does not |test_exactly_once has each fault by itself"
    "|set BARNABAS_KAFKA_JARS to test with a real Kafka"
)
"""How the reasons begin for which a test may be skipped in CI."""

_VARIABLES = {
    *(
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "PWD",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
    ),
    *("CI", "COLUMNS", "LINES"),
    *("LD_PRELOAD", "PYTHONMALLOC"),  # for builds with sanitizers
}
_PREFIXES = ("ASAN_", "BARNABAS_", "HYPOTHESIS_", "LC_", "PYTEST_", "UBSAN_", "XDG_")
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""What lets a JVM spend no time on code that would pay off after minutes."""
_TOOLS = "PYTEST_TOOLS"
"""Names the directory with links to programs, to the workers of a run."""


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def leave_bare_machine() -> None:
    """Take everything out of the environment that a newcomer does not have."""
    if _TOOLS in os.environ:  # a worker: the main process has done so
        return
    kept = tempfile.gettempdir()
    temporary = Path(tempfile.mkdtemp(prefix="barnabas-tests-"))
    temporary.chmod(0o1777)  # PostgreSQL runs as another user
    atexit.register(_remove, temporary, os.getpid())
    tools = temporary / "tools"
    base = tools / "base"
    tools.mkdir()
    for directory, names in ((base, _BASE.split()), *((tools / name, [name]) for name in OPTIONAL)):
        directory.mkdir()
        for name in names:
            found = _find(name)
            if found is not None:
                (directory / name).symlink_to(found)
    for name in list(os.environ):
        if name not in _VARIABLES and not name.startswith(_PREFIXES):
            del os.environ[name]
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{base}"
    os.environ[_TOOLS] = str(tools)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    os.environ["SPARK_LAUNCHER_OPTS"] = SHORT_LIVED
    # A JVM reads no TMPDIR.
    os.environ["SPARK_SUBMIT_OPTS"] = f"{SHORT_LIVED} -Djava.io.tmpdir={temporary}"
    os.environ["PYTEST_DEBUG_TEMPROOT"] = kept


def find_tool(name: str) -> Path | None:
    """One of the optional programs; its directory holds nothing else."""
    path = Path(os.environ[_TOOLS]) / name / name
    return path if name in OPTIONAL and path.exists() else None


def missing(name: str) -> str:
    """The reason to skip a test."""
    return f"{name} is not installed (Debian's package {OPTIONAL[name]})"


def _find(name: str) -> str | None:
    # Administrators' programs are not on every user's path.
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
