"""Runs of seeds in a process that goes on to the next: what one leaves behind is collected.

They are apart from `__main__`, whose functions other processes cannot import.
"""

import gc

from barnabas.sim.run import Outcome, run_seed


def freeze() -> None:
    """What was there before the first seed is not looked at after each of them."""
    gc.collect()
    gc.freeze()


def run_and_collect(seed: int, emphasis: str | None) -> Outcome:
    try:
        return run_seed(seed, emphasis=emphasis)
    finally:
        gc.collect()
