"""Writes src/barnabas/wire/messages from src/barnabas/wire/schema; `--check` only compares."""

import subprocess
import sys
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.codegen.emit import Emitter  # noqa: E402
from tools.codegen.schema import Block, parse  # noqa: E402

SCHEMA = ROOT / "src/barnabas/wire/schema"
MESSAGES = ROOT / "src/barnabas/wire/messages"
PACKAGE_DOC = '"""One module per API, generated from the schema table by `make codecs`."""\n'


def generate(path: Path) -> str:
    """The module for one schema file. Responses come first: requests refer to them."""
    blocks = sorted(parse(path), key=lambda block: block.kind == "request")
    emitter = Emitter()
    for block in blocks:
        emitter.message(block)
    return emitter.module(_title(blocks), path.stem)


def _title(blocks: list[Block]) -> str:
    names = [block.name for block in reversed(blocks)]
    title = f"Codecs of {', '.join(names[:-1])} and {names[-1]}."
    return "\n".join(wrap(title, 90))


def formatted(source: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    where = ["--stdin-filename", str(MESSAGES / "generated.py"), "-"]
    for command in (["check", "--fix", "--quiet"], ["format"]):
        done = subprocess.run(
            [*ruff, *command, *where], input=source, capture_output=True, text=True, check=False
        )
        if not done.stdout:
            raise SystemExit(f"ruff {command[0]} failed:\n{done.stderr}\n{source}")
        source = done.stdout
    return source


def main() -> None:
    check = "--check" in sys.argv[1:]
    wanted = {f"{path.stem}.py": formatted(generate(path)) for path in sorted(SCHEMA.iterdir())}
    wanted["__init__.py"] = PACKAGE_DOC
    present = {path.name: path.read_text() for path in MESSAGES.glob("*.py")}
    stale = sorted(
        name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)
    )
    if check:
        if stale:
            raise SystemExit(f"run `make codecs`: {', '.join(stale)} differ from the schema table")
        print(f"{len(wanted)} generated modules match the schema table")
        return
    for name in stale:
        if name in wanted:
            (MESSAGES / name).write_text(wanted[name])
        else:
            (MESSAGES / name).unlink()
    print(f"{len(stale)} of {len(wanted)} modules written")


if __name__ == "__main__":
    main()
