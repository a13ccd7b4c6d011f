"""Writes the blocking clients, src/barnabas/sync, from those in src/barnabas/aio.

`--check` only compares. What is taken away: `async` and `await`, in docstrings and comments too.
What is exchanged: the names in `NAMES`, and in docstrings what is in `PROSE`. How the two wait
differs, so each package has its own `waiting.py`, written by hand, and a few others of that kind.
"""

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AIO = ROOT / "src/barnabas/aio"
SYNC = ROOT / "src/barnabas/sync"
BY_HAND = {"__init__.py", "waiting.py", "workers.py"}

NAMES = {
    "aio": "sync",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "AsyncIterator": "Iterator",
    "AsyncIterable": "Iterable",
    "StopAsyncIteration": "StopIteration",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "asynccontextmanager": "contextmanager",
}
PROSE = [
    (re.compile(r"\bawait sent\b"), "sent.result()"),
    (re.compile(r"\bawait \(await (.*)\)"), r"\1.result()"),
    (re.compile(r"\b(?:async|await) "), ""),
    (re.compile(r"\bbarnabas\.aio\b"), "barnabas"),
    (re.compile(r"\b([Oo])ne task\b"), r"\1ne thread"),
    *((re.compile(rf"\b{name}\b"), other) for name, other in NAMES.items() if name != "aio"),
]
_IN_PARENTHESES = re.compile(r"(?<![\w)\]])\(await ([\w.]+(?:\([^()]*\))?)\)(?=[.\[])")
"""`(await admin.topics()).items()`: without the await, the parentheses have nothing to do."""
_FSTRING_MIDDLE = getattr(tokenize, "FSTRING_MIDDLE", -1)  # since Python 3.12
_BODY = re.compile(r'\A("""(?:.|\n)*?"""\n)', re.MULTILINE)


def blocking(source: str) -> str:
    """The same module without its `async` and `await`."""
    source = _IN_PARENTHESES.sub(r"await \1", source)
    source = source.replace("Awaitable[None] | None", "object")  # what a callback returns
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    pieces, at = [], 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if token.string in ("async", "await") and token.type == tokenize.NAME:
            pieces.append(source[at:begin])
            at = end + 1  # with the space after it
        elif token.type in (tokenize.NAME, tokenize.STRING, tokenize.COMMENT, _FSTRING_MIDDLE):
            pieces.append(source[at:begin])
            pieces.append(_exchanged(token.type, source[begin:end]))
            at = end
    return "".join(pieces) + source[at:]


def _exchanged(kind: int, text: str) -> str:
    if kind == tokenize.NAME:
        return NAMES.get(text, text)
    for pattern, other in PROSE:
        text = pattern.sub(other, text)
    return text


def generate(path: Path) -> str:
    made = f"\n# Made from ../aio/{path.name} by `make sync`: change it there.\n"
    source, count = _BODY.subn(lambda doc: doc[1] + made, blocking(path.read_text()), count=1)
    if not count:
        raise SystemExit(f"{path} has no docstring")
    return formatted(source, path.name)


def formatted(source: str, name: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    where = ["--stdin-filename", str(SYNC / name), "-"]
    for command in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format"]):
        done = subprocess.run(
            [*ruff, *command, *where], input=source, capture_output=True, text=True, check=False
        )
        if not done.stdout:
            raise SystemExit(f"ruff {command[0]} failed:\n{done.stderr}\n{source}")
        source = done.stdout
    return source


def main() -> None:
    check = "--check" in sys.argv[1:]
    wanted = {each.name: generate(each) for each in AIO.glob("*.py") if each.name not in BY_HAND}
    present = {each.name: each.read_text() for each in SYNC.glob("*.py")}
    stale = [name for name, text in wanted.items() if present.get(name) != text]
    stale += [name for name in present.keys() - wanted.keys() if name not in BY_HAND]
    if check:
        if stale:
            raise SystemExit(f"run `make sync`: {', '.join(sorted(stale))} in sync/ differ")
        print(f"{len(wanted)} blocking clients match those for asyncio")
        return
    for name in stale:
        if name in wanted:
            (SYNC / name).write_text(wanted[name])
        else:
            (SYNC / name).unlink()
    print(f"{len(stale)} files written")


if __name__ == "__main__":
    main()
