"""`python tools/lock.py`: write requirements/*.txt, exact versions with their hashes.

`make lock` runs it with the newest versions that pyproject.toml allows, and the tests after it.
The files serve every platform and every Python from 3.11 on. `demo.txt` and `docs.txt` have the
versions of `dev.txt`, so that the environments agree.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
_OPTIONS += ["--quiet", "--no-header", "--no-annotate", "--no-emit-package", "barnabas"]


def main() -> int:
    uv = Path(sys.executable).parent / "uv"
    _compile(uv, "uv", ["-"], stdin="uv\n")
    _compile(uv, "dev", ["pyproject.toml", "--extra", "dev"])
    for name in ("demo", "docs"):
        _compile(
            uv, name, ["pyproject.toml", "--extra", name, "--constraints", "requirements/dev.txt"]
        )
    return 0


def _compile(uv: Path, name: str, source: list[str], stdin: str | None = None) -> None:
    output = f"requirements/{name}.txt"
    print(f"writing {output}", flush=True)
    command = [uv, "pip", "compile", *_OPTIONS, "--output-file", output, *source]
    subprocess.run(command, cwd=ROOT, input=stdin, text=True, check=True)


if __name__ == "__main__":
    sys.exit(main())
