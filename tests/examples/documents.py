"""The fenced blocks of a document, as steps that can be run.

A `console` block holds commands after `$ `, each perhaps with the output it shall have; `…` stands
for anything, and alone in a line for any lines. A `python` block is a program; a `text` block right
after it holds its output. One that begins with `# NAME.py` is that file, which later ones may
import.
Commands that prepare a machine, run for ever or want a stopped server are not for tests: see
`NOT_RUN`. A command finds
the optional programs that it names, and no other.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.machine import OPTIONAL, find_tool
from tests.support.wait import LIMIT_S

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(
    r"make |pip |\.venv/bin/|BARNABAS_\w+=\S+ |barnabas server|barnabas app run|barnabas console"
    r"|barnabas consume orders +#"
    r"|barnabas log repair"
)
_FILE = re.compile(r"# (\w+\.py)\n")
_ADDRESS = "localhost:9092"
_ANY_LINES = r"[\s\S]*"


@dataclass
class Step:
    """A command line or a program, and what it prints; None: anything."""

    kind: str
    source: str
    expected: list[str] | None = field(default=None)


def steps(document: Path, *, without: str | None = None) -> list[Step]:
    """Those of a document, or of all its sections but one (`## without`)."""
    sections = re.split(r"^## ", document.read_text(), flags=re.MULTILINE)
    chosen = [text for text in sections if without is None or not text.startswith(f"{without}\n")]
    found: list[Step] = []
    for kind, text in _BLOCK.findall("\n".join(chosen)):
        if kind == "python":
            found.append(Step("python", text))
        elif kind == "text":
            if found:  # else it is a drawing
                found[-1].expected = text.splitlines()
        else:
            for line in text.splitlines():
                if line.startswith("$ "):
                    found.append(Step("console", line[2:]))
                else:
                    found[-1].expected = [*(found[-1].expected or []), line]
    return [step for step in found if not NOT_RUN.match(step.source)]


def run(step: Step, bootstrap: str, directory: Path, *, timeout_s: float = LIMIT_S) -> None:
    """Run one step as the document says, but with this broker; raise if it is not as promised."""
    source = step.source.replace(_ADDRESS, bootstrap).replace("/var/lib/barnabas/", "data/")
    if step.kind == "python" and (named := _FILE.match(source)):
        (directory / named[1]).write_text(source)
    command = (
        [sys.executable, "-c", source]
        if step.kind == "python"
        else ["bash", "-eo", "pipefail", "-c", source]
    )
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment(bootstrap, directory, *tools(step)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"{step.source}\n{done.stdout}"
    if step.expected is not None:
        lines = (_ANY_LINES if line == "…" else _pattern(line) for line in step.expected)
        assert re.fullmatch("\n".join(lines), done.stdout.rstrip("\n")), (
            f"{step.source}\n{done.stdout}"
        )


def tools(step: Step) -> list[str]:
    """Those of the optional programs that a command runs."""
    if step.kind != "console":
        return []
    return [name for name in OPTIONAL if re.search(rf"(?:^|[|;&(])\s*{name}\s", step.source)]


def environment(bootstrap: str, directory: Path, *tools: str) -> dict[str, str]:
    """What a step finds: the commands of this installation, the optional `tools`, this broker."""
    found = [path.parent for name in tools if (path := find_tool(name)) is not None]
    return {
        **os.environ,
        "PATH": ":".join([os.environ["PATH"], *map(str, found)]),
        "BARNABAS_BOOTSTRAP": bootstrap,
        "PYTHONDONTWRITEBYTECODE": "",
        **_bytecode(directory),
    }


def _bytecode(directory: Path) -> dict[str, str]:
    """Compiled once for all steps, even where nothing may be written next to the sources."""
    if os.access(ROOT / "src" / "barnabas", os.W_OK):
        return {}
    return {"PYTHONPYCACHEPREFIX": str(directory / "pycache")}


def _pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split("…")))
