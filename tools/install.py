"""`python tools/install.py VENV REQUIREMENTS [--project]`: make an environment of exact versions.

`make setup`, `make demo` and `make site` call it. It needs Python and PyPI alone: the environment
gets pip, pip gets uv, and uv gets the rest, because it is several times as fast. Every file is
checked against its hash, so that a new release of a dependency changes nothing here before
`tools/lock.py` has taken it in.

uv does not read pip's configuration, so what pip was told of indexes and certificates is passed on.
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
BUILD = REQUIREMENTS / "dev.txt"
"""Also has the versions of what builds source distributions."""

_FROM_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "cert": "SSL_CERT_FILE",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("venv", type=Path)
    parser.add_argument("requirements", type=Path)
    parser.add_argument("--project", action="store_true", help="install Barnabas itself, editable")
    given = parser.parse_args()
    try:
        install(given.venv, given.requirements, project=given.project)
    except subprocess.CalledProcessError as error:
        print(f"{Path(error.cmd[0]).name} failed, see above; the next run continues from here")
        return 1
    except KeyboardInterrupt:
        print("interrupted; the next run continues from here")
        return 130
    return 0


def install(directory: Path, requirements: Path, *, project: bool) -> None:
    programs = directory / "bin"
    if not (programs / "pip").exists():  # an interrupted one is replaced
        print(f"creating {directory}", flush=True)
        venv.create(directory, clear=True, with_pip=True, symlinks=True)
    pip = [programs / "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--requirement", REQUIREMENTS / "uv.txt"])
    settings = pip_settings(programs / "pip")
    uv = [programs / "uv", "pip", "install", "--python", programs / "python"]
    uv += ["--build-constraints", BUILD]
    if not sys.stderr.isatty():
        uv.append("--quiet")
    count = sum("==" in line for line in requirements.read_text().splitlines())
    print(f"installing up to {count} packages from {requirements}", flush=True)
    _run([*uv, "--require-hashes", "--requirement", requirements], settings)
    if project:
        _run([*uv, "--no-deps", "--editable", ROOT], settings)


def pip_settings(pip: Path) -> dict[str, str]:
    """pip's configuration in uv's words; what the environment says to uv itself wins."""
    listed = subprocess.run([pip, "config", "list"], capture_output=True, text=True, check=True)
    found = {"UV_SYSTEM_CERTS": "1"}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        variable = _FROM_PIP.get(name.rpartition(".")[2])
        if variable is not None:
            found[variable] = value.strip("'\"")
    return found | dict(os.environ)


def _run(command: list[str | Path], environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
