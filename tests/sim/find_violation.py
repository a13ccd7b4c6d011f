"""`python -m tests.sim.find_violation NAME`: run seeds with a rule broken until it shows.

Some rules have a schedule of their own, which takes the place of the faults of the seeds.

Being stuck does not count, only a promise that was not kept. Nor does a broken rule that fails by
itself, because the code that it replaces has changed: that is an error of the test.
"""

import gc
import sys

from barnabas.sim.run import Stuck, Violation, run_seed
from tests.sim.variants import VARIANTS, broken

MOST_SEEDS = 100


def find(name: str) -> str | None:
    """What the first seed that shows it has found."""
    _, emphasis, first_seed, schedule = VARIANTS[name]
    with broken(name):
        for seed in range(first_seed, first_seed + MOST_SEEDS):
            try:
                if schedule is None:
                    run_seed(seed, emphasis=emphasis)
                else:
                    schedule(seed)
            except Violation as violation:
                if isinstance(violation.__cause__, AttributeError | NameError | TypeError):
                    raise
                return f"seed {seed}: {violation}"
            except Stuck:
                continue
            finally:
                gc.collect()
    return None


if __name__ == "__main__":
    found = find(sys.argv[1])
    print(found or f"none of {MOST_SEEDS} seeds shows it")
    sys.exit(found is None)
