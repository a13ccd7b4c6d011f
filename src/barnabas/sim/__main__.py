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
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count, islice, takewhile

from barnabas.sim.garbage import freeze, run_and_collect
from barnabas.sim.profile import CHOICES
from barnabas.sim.run import Outcome, run_seed

_HASH_SEED = "0"
_SEEDS_PER_PROCESS = 500
"""Starting one costs as much as a seed; what seeds leave behind takes memory."""


Attempt = tuple[int, Future[Outcome]]


def _here(seeds: Iterator[int], emphasis: str | None) -> Iterator[Attempt]:
    """One seed after the other, in this process."""
    freeze()
    for seed in seeds:
        attempt: Future[Outcome] = Future()
        try:
            attempt.set_result(run_and_collect(seed, emphasis))
        except Exception as error:  # noqa: BLE001 - `_run_many` tells of it, with the seed
            attempt.set_exception(error)
        yield seed, attempt


def _on_cores(seeds: Iterator[int], emphasis: str | None, jobs: int) -> Iterator[Attempt]:
    """As many at once as there are cores; processes are replaced before they grow too large."""
    pool = ProcessPoolExecutor(jobs, max_tasks_per_child=_SEEDS_PER_PROCESS, initializer=freeze)
    running: dict[Future[Outcome], int] = {}
    try:
        while True:
            for seed in islice(seeds, 2 * jobs - len(running)):
                running[pool.submit(run_and_collect, seed, emphasis)] = seed
            if not running:
                return
            for attempt in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(attempt), attempt
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run_many(seeds: Iterator[int], emphasis: str | None, jobs: int) -> int:
    began = time.monotonic()
    done = 0
    for seed, attempt in _here(seeds, emphasis) if jobs == 1 else _on_cores(seeds, emphasis, jobs):
        failure = attempt.exception()
        if failure is not None:
            chosen = f" EMPHASIS={emphasis}" if emphasis else ""
            print(f"seed {seed} fails: {type(failure).__name__}: {failure}\n")
            print(f"  make sim SEED={seed}{chosen}\n\nshows it again")
            return 1
        done += 1
        if done % 100 == 0:
            print(f"{done} seeds, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{done} seeds, no violation, {time.monotonic() - began:.0f} s")
    return 0


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
