"""The ledger of soaks: what was simulated, with which commit, and what came of it.

It is a file with a line of JSON for each soak, which only ever grows. It is kept outside the
repository, so that counts of many commits and checkouts add up in one place.
"""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

_LIKELY_FAILURES = 3
"""If no run of n has failed, fewer than 3/n do, with 95% confidence."""


@dataclass(frozen=True)
class Entry:
    """One soak."""

    commit: str
    began: str
    """UTC, as ISO 8601."""
    emphasis: str | None
    seeds: int
    simulated_s: float
    cpu_s: float
    failures: list[str] = field(default_factory=list)
    """The seeds that failed, each with its error."""
    reached: dict[str, int] = field(default_factory=dict)
    """The number of seeds that reached each state, themselves or in another future."""
    futures: int = 0
    """Other futures of these seeds."""


def default_path() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "barnabas" / "simulations.jsonl"


def append(path: Path, entry: Entry) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(asdict(entry)) + "\n")


def read(path: Path) -> list[Entry]:
    """All entries; none if there is no file."""
    if not path.exists():
        return []
    return [Entry(**json.loads(line)) for line in path.read_text().splitlines() if line]


def current_commit() -> str:
    """The commit of this code, with a + if the working tree differs from it."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(folder), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if not commit:
        return "unknown"
    return commit + ("+" if git("status", "--porcelain", "--untracked-files=no", ".") else "")


def history(entries: Iterable[Entry], expected: Iterable[str]) -> str:
    """A table with a line for each commit, the newest last, and what is to be said about it."""
    by_commit: dict[str, list[Entry]] = {}
    for entry in entries:
        by_commit.setdefault(entry.commit, []).append(entry)
    if not by_commit:
        return "no soak is on record; make soak adds one"
    expected = list(expected)
    lines = [
        _row(
            "commit", "last soak", "seeds", "futures", "hours", "s per CPU s", "states", "failures"
        )
    ]
    failures: list[str] = []
    for commit, own in by_commit.items():
        seeds = sum(each.seeds for each in own)
        simulated_s = sum(each.simulated_s for each in own)
        cpu_s = sum(each.cpu_s for each in own)
        reached = reached_by(own)
        failed = [f"{_short(commit)} {failure}" for each in own for failure in each.failures]
        failures += failed
        found = sum(state in reached for state in expected)
        lines.append(
            _row(
                _short(commit),
                max(each.began for each in own)[:16].replace("T", " "),
                f"{seeds:,}",
                f"{sum(each.futures for each in own):,}",
                f"{simulated_s / 3600:.1f}",
                f"{simulated_s / max(cpu_s, 0.001):.1f}",
                f"{found}/{len(expected)}",
                str(len(failed)),
            )
        )
        if seeds and not failed:
            share = f"fewer than {_LIKELY_FAILURES / seeds:.2%} of seeds fail, with 95% confidence"
            lines.append(f"    {share}")
    if failures:
        lines += ["", "failures:", *(f"  {failure}" for failure in failures)]
    return "\n".join(lines)


def reached_by(entries: Iterable[Entry]) -> Counter[str]:
    reached: Counter[str] = Counter()
    for entry in entries:
        reached.update(entry.reached)
    return reached


def _short(commit: str) -> str:
    return commit if commit == "unknown" else commit[:10] + ("+" if commit.endswith("+") else "")


def _row(*columns: str) -> str:
    widths = (12, 17, 9, 9, 9, 13, 8, 10)
    first, *rest = (
        f"{text:<{width}}" if index < 2 else f"{text:>{width}}"
        for index, (text, width) in enumerate(zip(columns, widths, strict=True))
    )
    return (first + "".join(rest)).rstrip()
