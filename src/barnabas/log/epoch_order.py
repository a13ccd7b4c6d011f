"""Which leader epochs of stored batches can be true, judged by their order.

The CRC of a batch does not cover its leader epoch, so a flipped bit in it goes unnoticed by a
check of the batch alone. But in a log epochs never fall, and none is later than that of the
leader. So of batches whose epochs fall, the heaviest run of batches in order is right, and each
other one is of an epoch between those of its neighbours. If these are equal, its epoch is known.

If they differ, the later of the two is a safe substitute, as long as other replicas copy this log:
the leader of that epoch had this batch, so no log has another one of that epoch there. The earlier
one is not: another log may have a batch of that epoch there which was never committed.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class EpochRun(NamedTuple):
    """Successive batches that have one epoch."""

    epoch: int
    batches: int
    start_offset: int
    gap_start: int | None = None
    """Where the batch before it ended, if compaction has removed what was between them."""


class SettledEpoch(NamedTuple):
    """The epoch of a run, as far as its neighbours tell."""

    epoch: int | None
    """What it is, or a safe substitute; None: nothing is known behind it."""
    is_exact: bool


def settle_epochs(
    runs: Sequence[EpochRun], lowest: int, highest: int | None = None
) -> list[SettledEpoch]:
    """The epoch of each run, in a log that has `lowest` before the first of them.

    No batch is of a later epoch than `highest`; None if that is unknown.
    """
    certain = _certain(runs, lowest, highest)
    settled: list[SettledEpoch] = []
    above = highest
    for run, is_certain in zip(reversed(runs), reversed(certain), strict=True):
        above = run.epoch if is_certain else above
        settled.append(SettledEpoch(above, is_certain))
    settled.reverse()
    below = lowest
    for at, (epoch, is_certain) in enumerate(settled):
        if is_certain:
            below = runs[at].epoch
        else:
            settled[at] = SettledEpoch(epoch, epoch == below)
    return settled


def _certain(runs: Sequence[EpochRun], lowest: int, highest: int | None) -> list[bool]:
    """Which runs are part of every heaviest choice of runs whose epochs do not fall."""
    possible = [
        at
        for at, run in enumerate(runs)
        if run.epoch >= lowest and (highest is None or run.epoch <= highest)
    ]
    epochs = [runs[at].epoch for at in possible]
    weights = [runs[at].batches for at in possible]
    ending = _heaviest_chains(epochs, weights)
    backward = _heaviest_chains((-epoch for epoch in reversed(epochs)), reversed(weights))
    beginning = reversed(backward)
    total = max(ending, default=0)
    # A run of a heaviest chain covers the weights from those of all runs before it to its own. If
    # another one covers some of the same, there is a chain with either of them.
    covered = sorted(
        (end - weight, end, at)
        for at, weight, end, rest in zip(possible, weights, ending, beginning, strict=True)
        if end + rest - weight == total
    )
    certain = [False] * len(runs)
    reached = 0
    for number, (start, end, at) in enumerate(covered):
        following = covered[number + 1][0] if number + 1 < len(covered) else total
        certain[at] = reached <= start and end <= following
        reached = max(reached, end)
    return certain


def _heaviest_chains(epochs: Iterable[int], weights: Iterable[int]) -> list[int]:
    """For each epoch the weight of the heaviest choice that ends with it and does not fall."""
    found: list[int] = []
    steps: list[int] = []
    """Epochs in order,"""
    heaviest: list[int] = []
    """and what the heaviest choice up to each of them weighs; more from step to step."""
    for epoch, weight in zip(epochs, weights, strict=True):
        at = bisect_right(steps, epoch)
        best = weight + (heaviest[at - 1] if at else 0)
        found.append(best)
        if at and steps[at - 1] == epoch:
            at -= 1
        end = at
        while end < len(steps) and heaviest[end] <= best:
            end += 1
        steps[at:end] = [epoch]
        heaviest[at:end] = [best]
    return found
