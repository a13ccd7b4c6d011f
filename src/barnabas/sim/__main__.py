"""`python -m barnabas.sim`: run one seed with a trace, a range of seeds, or as many as time allows.

    --seed 17              run seed 17 and print what happened
    --seeds 0-299,1001     run these, on all cores, and print the first that fails
    --minutes 10           run seeds from a random one on for so long, and add them to the ledger
    --futures 2            with --seeds or --minutes: so many futures from each split point
    --splits 3:2           with --seed: take future 2 at the third split point
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
from barnabas.sim.run import play, prepare
from barnabas.sim.shrink import report, shrink
from barnabas.sim.splits import MOST_POINTS, Future, Splits, explore, follow, parsed, written
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
    futures_each: int = 0
    """How many futures are tried from each split point."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    began_s: float = field(default_factory=time.monotonic)
    began_cpu_s: float = field(default_factory=_cpu_s)
    seeds: int = 0
    futures: int = 0
    virtual_ms: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    failing: tuple[int, Splits] | None = None

    def add(self, results: list[Future]) -> Future | None:
        """A seed and its futures; one that has failed. What they share counts once."""
        reached: set[str] = set()
        for future in results:
            if isinstance(future.result, Failure):
                return future
            self.virtual_ms += future.result.virtual_ms - future.shared_ms
            reached.update(future.result.reached)
        self.seeds += 1
        self.futures += len(results) - 1
        self.reached.update(reached)
        return None

    def fail(self, seed: int, failed: Future) -> None:
        splits, failure, _ = failed
        chosen = f"SEED={seed}"
        chosen += f" EMPHASIS={self.emphasis}" if self.emphasis else ""
        chosen += f" SPLITS={written(splits)}" if splits else ""
        print(f"seed {seed} fails: {failure}\n")
        print(f"  make sim {chosen}\n\nshows it again")
        self.failures.append(f"{chosen}: {failure}")
        self.failing = (seed, splits)

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
            self.futures,
        )


def _run_many(seeds: Iterator[int], emphasis: str | None, jobs: int, futures: int) -> _Tally:
    """Run seeds until one fails."""
    tally = _Tally(emphasis, futures)
    work = partial(explore, futures=futures, emphasis=emphasis)
    for seed, results in forked(work, seeds, jobs):
        if isinstance(results, Failure):
            tally.fail(seed, Future((), results))
            return tally
        failed = tally.add(results)
        if failed is not None:
            tally.fail(seed, failed)
            return tally
        if tally.seeds % 100 == 0:
            print(f"{tally.seeds} seeds, {tally.elapsed_s:.0f} s", flush=True)
    print(f"{tally.seeds} seeds, no violation, {tally.elapsed_s:.0f} s")
    if futures:
        print(f"{tally.futures} futures from {MOST_POINTS} split points of each at most")
    cpu_s = max(tally.cpu_s, 0.001)
    runs = tally.seeds + tally.futures
    pace = tally.simulated_s / cpu_s
    print(f"{tally.simulated_s:.0f} s were simulated, {pace:.1f} per CPU second")
    print(f"{60 * runs / cpu_s:.1f} runs per CPU minute")
    return tally


def _soak(minutes: float, emphasis: str | None, jobs: int, ledger: Path, futures: int) -> int:
    """New seeds, which count: they go into the ledger, and have to reach what matters."""
    tally = _run_many(_for_some_time(minutes), emphasis, jobs, futures)
    append(ledger, tally.entry())
    print(f"added to {ledger}; python -m barnabas.sim history shows it")
    if tally.failing is not None:
        print("\nreducing it; this may take some minutes\n", flush=True)
        seed, splits = tally.failing
        _shrink(seed, emphasis, splits)
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


def _parse_splits(text: str) -> Splits:
    try:
        return parsed(text)
    except ValueError:
        raise argparse.ArgumentTypeError("expected POINT:FUTURE,..., such as 3:2") from None


def _shrink(seed: int, emphasis: str | None, splits: Splits) -> int:
    shrinker = shrink(seed, emphasis, splits=splits)
    if shrinker is None:
        print(f"seed {seed} does not fail")
        return 1
    print(report(seed, emphasis, shrinker, splits))
    return 0


def _run_one(seed: int, emphasis: str | None, reduction: Reduction, splits: Splits) -> int:
    run = prepare(seed, emphasis, print, reduction)
    follow(run, splits)
    try:
        play(run)
        print(run.outcome())
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
    parser.add_argument(
        "--futures",
        type=int,
        default=0,
        help="With --seeds or --minutes: futures to try from each split point (default: 0)",
    )
    parser.add_argument(
        "--splits",
        type=_parse_splits,
        default=(),
        help="With --seed: the futures to take, such as 3:2 for the second at the third point",
    )
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
        return _shrink(arguments.seed, arguments.emphasis, arguments.splits)
    if arguments.seed is not None:
        reduction = Reduction(arguments.faults, arguments.without, arguments.faulty_ms)
        return _run_one(arguments.seed, arguments.emphasis, reduction, arguments.splits)
    if arguments.seeds is not None:
        seeds = iter(_parse_seeds(arguments.seeds))
        tally = _run_many(seeds, arguments.emphasis, arguments.jobs, arguments.futures)
        return 1 if tally.failures else 0
    if arguments.minutes is None:
        parser.error("one of --seed, --seeds, --minutes and history is required")
    return _soak(
        arguments.minutes,
        arguments.emphasis,
        arguments.jobs,
        arguments.ledger,
        arguments.futures,
    )


if __name__ == "__main__":
    sys.exit(main())
