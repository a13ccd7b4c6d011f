"""`python -m barnabas.sim`: run one seed with a trace, a range of seeds, or as many as time allows.

    --seed 17              run seed 17 and print what happened
    --seeds 0-299,1001     run these, on all cores, and print the first that fails
    --minutes 10           run seeds from a random one on for so long, and add them to the ledger
    shrink --seed 17       reduce a failing seed to fewer faults and clients
    history                show the ledger: what was simulated, by commit

The order in which Python keeps strings in a set differs from process to process, so everything
runs with a fixed PYTHONHASHSEED.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count, takewhile
from pathlib import Path

from barnabas.sim.forks import Failure, forked
from barnabas.sim.ledger import Entry, append, current_commit, default_path, history, read
from barnabas.sim.profile import CHOICES
from barnabas.sim.reduction import PARTS, Reduction
from barnabas.sim.run import Outcome, run_seed
from barnabas.sim.shrink import report, shrink
from barnabas.sim.states import EXPECTED, not_reached

_HASH_SEED = "0"


def _cpu_s() -> float:
    """Of the processes that have ended, which ran the seeds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class _Tally:
    """What has come of the seeds so far."""

    emphasis: str | None
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    began_s: float = field(default_factory=time.monotonic)
    began_cpu_s: float = field(default_factory=_cpu_s)
    seeds: int = 0
    virtual_ms: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failing: int | None = None

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.virtual_ms += outcome.virtual_ms
        self.reached.update(outcome.reached.keys())

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began_s

    @property
    def simulated_s(self) -> float:
        return self.virtual_ms / 1000

    @property
    def cpu_s(self) -> float:
        return _cpu_s() - self.began_cpu_s

    def entry(self) -> Entry:
        return Entry(
            current_commit(),
            self.began.isoformat(timespec="seconds"),
            self.emphasis,
            self.seeds,
            self.simulated_s,
            round(self.cpu_s, 1),
            self.failures,
            dict(sorted(self.reached.items())),
        )


def _run_many(seeds: Iterator[int], emphasis: str | None, jobs: int) -> _Tally:
    """Run seeds until one fails."""
    tally = _Tally(emphasis)
    for seed, outcome in forked(partial(run_seed, emphasis=emphasis), seeds, jobs):
        if isinstance(outcome, Failure):
            chosen = f" EMPHASIS={emphasis}" if emphasis else ""
            print(f"seed {seed} fails: {outcome}\n")
            print(f"  make sim SEED={seed}{chosen}\n\nshows it again")
            tally.failures.append(f"SEED={seed}{chosen}: {outcome}")
            tally.failing = seed
            return tally
        tally.add(outcome)
        if tally.seeds % 100 == 0:
            print(f"{tally.seeds} seeds, {tally.elapsed_s:.0f} s", flush=True)
    print(f"{tally.seeds} seeds, no violation, {tally.elapsed_s:.0f} s")
    pace = tally.simulated_s / max(tally.cpu_s, 0.001)
    print(f"{tally.simulated_s:.0f} s were simulated, {pace:.1f} per CPU second")
    return tally


def _soak(minutes: float, emphasis: str | None, jobs: int, ledger: Path) -> int:
    """New seeds, which count: they go into the ledger, and have to reach what matters."""
    tally = _run_many(_for_some_time(minutes), emphasis, jobs)
    append(ledger, tally.entry())
    print(f"added to {ledger}; python -m barnabas.sim history shows it")
    if tally.failing is not None:
        print("\nreducing it; this may take some minutes\n", flush=True)
        _shrink(tally.failing, emphasis)
        return 1
    missing = [] if emphasis else not_reached(tally.reached, tally.seeds)
    for state in missing:
        print(f"no seed has reached: {state}")
    return 1 if missing else 0


def _for_some_time(minutes: float) -> Iterator[int]:
    """Seeds that are most likely new, until the time is over."""
    until = time.monotonic() + minutes * 60
    first = random.SystemRandom().randrange(1 << 40)
    return takewhile(lambda _: time.monotonic() < until, count(first))


def _parse_seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def _parse_faults(text: str) -> frozenset[int]:
    return frozenset() if text == "none" else frozenset(_parse_seeds(text))


def _parse_parts(text: str) -> frozenset[str]:
    parts = frozenset(part.strip() for part in text.split(","))
    unknown = parts - frozenset(PARTS)
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return parts


def _shrink(seed: int, emphasis: str | None) -> int:
    shrinker = shrink(seed, emphasis)
    if shrinker is None:
        print(f"seed {seed} does not fail")
        return 1
    print(report(seed, emphasis, shrinker))
    return 0


def _run_one(seed: int, emphasis: str | None, reduction: Reduction) -> int:
    try:
        print(run_seed(seed, emphasis=emphasis, say=print, reduction=reduction))
    except AssertionError as error:
        print(f"\n{type(error).__name__}: {error}")
        if error.__cause__ is not None:
            raise
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m barnabas.sim")
    parser.add_argument(
        "command",
        nargs="?",
        choices=["history", "shrink"],
        help="Show what was simulated, by commit; or reduce the failing --seed to what it takes",
    )
    parser.add_argument("--seed", type=int, help="Run one seed and print its trace")
    parser.add_argument("--seeds", help="Seeds or ranges, such as 0-299,1001")
    parser.add_argument("--minutes", type=float, help="Run new seeds for this long")
    parser.add_argument("--emphasis", choices=CHOICES, help="Kind of faults; drawn from the seed")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="Processes (default: all cores)"
    )
    parser.add_argument(
        "--ledger",
        type=Path,
        default=default_path(),
        help="File that --minutes adds to and history reads (default: %(default)s)",
    )
    parser.add_argument("--faults", type=_parse_faults, help="With --seed: only these, or none")
    parser.add_argument(
        "--without",
        type=_parse_parts,
        default=frozenset(),
        help=f"With --seed: leave out any of {', '.join(PARTS)}",
    )
    parser.add_argument("--faulty-ms", type=int, help="With --seed: how long faults are made")
    arguments = parser.parse_args()
    if arguments.command == "history":
        print(history(read(arguments.ledger), EXPECTED))
        return 0
    if os.environ.get("PYTHONHASHSEED") != _HASH_SEED:
        environment = os.environ | {"PYTHONHASHSEED": _HASH_SEED}
        command = [sys.executable, "-m", "barnabas.sim", *sys.argv[1:]]
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603
    if arguments.command == "shrink":
        if arguments.seed is None:
            parser.error("shrink needs --seed")
        return _shrink(arguments.seed, arguments.emphasis)
    if arguments.seed is not None:
        reduction = Reduction(arguments.faults, arguments.without, arguments.faulty_ms)
        return _run_one(arguments.seed, arguments.emphasis, reduction)
    if arguments.seeds is not None:
        seeds = iter(_parse_seeds(arguments.seeds))
        return 1 if _run_many(seeds, arguments.emphasis, arguments.jobs).failures else 0
    if arguments.minutes is None:
        parser.error("one of --seed, --seeds, --minutes and history is required")
    return _soak(arguments.minutes, arguments.emphasis, arguments.jobs, arguments.ledger)


if __name__ == "__main__":
    sys.exit(main())
