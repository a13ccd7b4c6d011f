"""`python -m tests.sim.find_violation NAME`: run seeds with a rule broken until it shows.

    NAME                   try the pinned seed and the two after it, as the tests do
    NAME --search          try many seeds
    NAME --shrink          reduce the first of these that shows it to what it takes
    NAME --unbroken        run the schedule of this rule, with the rule kept
    --repin                search for every rule whose pinned seed does not show it, and write
                           the seeds that do to `pinned_seeds.json`

Some rules have a schedule of their own, which takes the place of the faults of the seeds.

Being stuck does not count, only a promise that was not kept. Nor does a broken rule that fails by
itself, because the code that it replaces has changed: that is an error of the test.

A seed is another run whenever the code draws another number. Then its rule may show with none of
the three: `--repin` finds seeds that show it again, in some minutes for all rules.
"""

import argparse
import gc
import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

from barnabas.sim.run import Stuck, Violation, run_seed
from barnabas.sim.shrink import report, shrink
from tests.sim.variants import VARIANTS, broken

MOST_SEEDS = 400
_PINS = Path(__file__).with_name("pinned_seeds.json")
_TRIES = 3
_PYTHON = "{}.{}".format(*sys.version_info)


def _pinned_seeds() -> dict[str, int]:
    seeds: dict[str, int] = json.loads(_PINS.read_text())["seeds"]
    return seeds


def tried_seeds(name: str) -> Sequence[int]:
    """The pinned one shows it. The next ones may, after a change that has moved few things.

    With another Python a seed may be another run, so many are tried.
    """
    pinned = _pinned_seeds().get(name)
    if pinned is None or json.loads(_PINS.read_text())["python"] != _PYTHON:
        return range(MOST_SEEDS)
    return range(pinned, pinned + _TRIES)


def find(name: str, seeds: Iterable[int], *, unbroken: bool = False) -> tuple[int, str] | None:
    """The first seed that shows it, and what that has found."""
    _, emphasis, schedule = VARIANTS[name]
    with nullcontext() if unbroken else broken(name):
        for seed in seeds:
            try:
                if schedule is None:
                    run_seed(seed, emphasis=emphasis)
                else:
                    schedule(seed)
            except Violation as violation:
                if isinstance(violation.__cause__, AttributeError | NameError | TypeError):
                    raise
                return seed, str(violation)
            except Stuck:
                if unbroken:
                    raise
            finally:
                gc.collect()
    return None


def _repin() -> int:
    """Pin what is found, also if some rule shows nowhere."""
    before = _pinned_seeds()
    pins: dict[str, int] = {}
    for name in VARIANTS:
        found = find(name, (*tried_seeds(name)[:1], *range(MOST_SEEDS)))
        if found is None:
            print(f"none of {MOST_SEEDS} seeds shows: {name}", flush=True)
            continue
        pins[name], _ = found
        if pins[name] != before.get(name):
            print(f"seed {pins[name]} shows: {name}", flush=True)
    _PINS.write_text(json.dumps({"python": _PYTHON, "seeds": pins}, indent=2) + "\n")
    return len(VARIANTS) - len(pins)


def _shrink(name: str) -> int:
    _, emphasis, schedule = VARIANTS[name]
    if schedule is not None:
        print("it has a schedule of its own, with no more faults than it takes")
        return 1
    with broken(name):
        for seed in tried_seeds(name):
            shrinker = shrink(seed, emphasis)
            if shrinker is not None:
                print(report(seed, emphasis, shrinker))
                return 0
    print("no seed fails")
    return 1


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.find_violation")
    parser.add_argument("name", nargs="?", choices=VARIANTS, metavar="NAME", help="A broken rule")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--search", action="store_true", help="Try many seeds")
    mode.add_argument("--shrink", action="store_true", help="Reduce a run that shows it")
    mode.add_argument("--unbroken", action="store_true", help="Run its schedule, the rule kept")
    mode.add_argument("--repin", action="store_true", help="Write seeds that show every rule")
    chosen = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        parser.error("the order of strings in sets is part of a seed; set PYTHONHASHSEED=0")
    if chosen.repin:
        return _repin()
    if chosen.name is None:
        parser.error("NAME or --repin is required")
    if chosen.shrink:
        return _shrink(chosen.name)
    seeds = range(MOST_SEEDS) if chosen.search else tried_seeds(chosen.name)
    found = find(chosen.name, seeds, unbroken=chosen.unbroken)
    if found is not None:
        print("seed {}: {}".format(*found))
        return int(chosen.unbroken)
    if chosen.unbroken:
        print("nothing is violated")
        return 0
    print(f"none of the seeds {seeds[0]} to {seeds[-1]} shows it")
    return 1


if __name__ == "__main__":
    sys.exit(_main())
