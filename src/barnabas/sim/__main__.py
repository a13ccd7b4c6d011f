"""`python -m barnabas.sim`: run one seed with a trace, a range of seeds, or as many as time allows.

    --seed 17              run seed 17 and print what happened
    --seeds 0-299,1001     run these, on all cores, and print the first that fails
    --minutes 10           run seeds from a random one on for so long

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
from collections.abc import Iterator
from functools import partial
from itertools import count, takewhile

from barnabas.sim.forks import Failure, forked
from barnabas.sim.profile import CHOICES
from barnabas.sim.run import run_seed

_HASH_SEED = "0"


def _run_many(seeds: Iterator[int], emphasis: str | None, jobs: int) -> int:
    began, began_cpu_s = time.monotonic(), _cpu_s()
    done = virtual_ms = 0
    for seed, outcome in forked(partial(run_seed, emphasis=emphasis), seeds, jobs):
        if isinstance(outcome, Failure):
            chosen = f" EMPHASIS={emphasis}" if emphasis else ""
            print(f"seed {seed} fails: {outcome}\n")
            print(f"  make sim SEED={seed}{chosen}\n\nshows it again")
            return 1
        done += 1
        virtual_ms += outcome.virtual_ms
        if done % 100 == 0:
            print(f"{done} seeds, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{done} seeds, no violation, {time.monotonic() - began:.0f} s")
    pace = virtual_ms / 1000 / max(_cpu_s() - began_cpu_s, 0.001)
    print(f"{virtual_ms / 1000:.0f} s were simulated, {pace:.1f} per CPU second")
    return 0


def _cpu_s() -> float:
    """Of the processes that have ended, which ran the seeds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def _run_one(seed: int, emphasis: str | None) -> int:
    try:
        print(run_seed(seed, emphasis=emphasis, say=print))
    except AssertionError as error:
        print(f"\n{type(error).__name__}: {error}")
        if error.__cause__ is not None:
            raise
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m barnabas.sim")
    parser.add_argument("--seed", type=int, help="Run one seed and print its trace")
    parser.add_argument("--seeds", help="Seeds or ranges, such as 0-299,1001")
    parser.add_argument("--minutes", type=float, help="Run new seeds for this long")
    parser.add_argument("--emphasis", choices=CHOICES, help="Kind of faults; drawn from the seed")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="Processes (default: all cores)"
    )
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != _HASH_SEED:
        environment = os.environ | {"PYTHONHASHSEED": _HASH_SEED}
        command = [sys.executable, "-m", "barnabas.sim", *sys.argv[1:]]
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603
    if arguments.seed is not None:
        return _run_one(arguments.seed, arguments.emphasis)
    if arguments.seeds is not None:
        seeds: Iterator[int] = iter(_parse_seeds(arguments.seeds))
    elif arguments.minutes is not None:
        seeds = _for_some_time(arguments.minutes)
    else:
        parser.error("one of --seed, --seeds and --minutes is required")
    return _run_many(seeds, arguments.emphasis, arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
