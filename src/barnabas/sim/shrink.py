"""Makes a failing run smaller: fewer faults, fewer clients, shorter, until nothing can be left out.

Each attempt leaves something out and runs the seed again. It counts if it fails in the same way:
with the same error, apart from numbers. First a run is made shorter, which leaves most faults out
at once. Then come the clients, of which each takes half a second of every attempt. Then the faults,
in halves, quarters and so on down to single ones (delta debugging), and all of it again as long as
something more can be left out.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from barnabas.sim.forks import Failure, forked
from barnabas.sim.reduction import PARTS, Reduction
from barnabas.sim.run import play, prepare
from barnabas.sim.splits import Splits, follow, written

MOST_ATTEMPTS = 300
_SHORTEST_MS = 500
_SHOWN = 12


@dataclass(frozen=True)
class Trial:
    """How a run has ended."""

    failure: str | None
    """Its error; None if it did not fail."""
    faults: tuple[int, ...] = ()
    """The numbers of the faults that were made."""
    parts: frozenset[str] = frozenset()
    """What it had that can be left out."""
    faulty_ms: int = 0
    events: list[str] = field(default_factory=list)
    """What happened, as it is printed."""

    @property
    def signature(self) -> str | None:
        """What two failures with the same cause have in common."""
        return None if self.failure is None else re.sub(r"\d+", "#", self.failure)


class Shrinker:
    """Tries smaller runs with `attempt`, at most so many."""

    def __init__(
        self, attempt: Callable[[Reduction], Trial], most_attempts: int, failing: Trial
    ) -> None:
        """`failing` is the run with nothing left out."""
        self._attempt = attempt
        self._left = most_attempts
        self._signature = failing.signature
        self.smallest = Reduction()
        self.trial = failing
        """The run with the smallest reduction."""
        self.attempts = 0

    def shrink(self) -> None:
        before = None
        while before != self.smallest and self._left > 0:
            before = self.smallest
            self._shorten()
            self._leave_parts_out()
            self._leave_faults_out()

    def _try(self, reduction: Reduction) -> bool:
        if self._left <= 0 or reduction == self.smallest:
            return False
        self._left -= 1
        self.attempts += 1
        trial = self._attempt(reduction)
        if trial.signature != self._signature:
            return False
        self.smallest, self.trial = reduction, trial
        return True

    def _shorten(self) -> None:
        while (shorter_ms := self.trial.faulty_ms // 2) >= _SHORTEST_MS:
            if not self._try(replace(self.smallest, faulty_ms=shorter_ms)):
                return

    def _leave_parts_out(self) -> None:
        for part in PARTS:
            if part in self.trial.parts:
                self._try(replace(self.smallest, without=self.smallest.without | {part}))

    def _leave_faults_out(self) -> None:
        size = len(self.trial.faults)
        while size >= 1:
            at = 0
            while at < len(self.trial.faults):
                faults = self.trial.faults
                kept = frozenset(faults[:at] + faults[at + size :])
                if not self._try(replace(self.smallest, faults=kept)):
                    at += size
            size //= 2


def shrink(
    seed: int,
    emphasis: str | None,
    most_attempts: int = MOST_ATTEMPTS,
    *,
    splits: Splits = (),
) -> Shrinker | None:
    """Make a failing run smaller; None if it does not fail. Each attempt has its own process."""

    def attempt(reduction: Reduction) -> Trial:
        [(_, trial)] = forked(partial(_try_seed, emphasis, reduction, splits), iter((seed,)), 1)
        return Trial(str(trial)) if isinstance(trial, Failure) else trial

    failing = attempt(Reduction())
    if failing.failure is None:
        return None
    shrinker = Shrinker(attempt, most_attempts, failing)
    shrinker.shrink()
    return shrinker


def _try_seed(emphasis: str | None, reduction: Reduction, splits: Splits, seed: int) -> Trial:
    events: list[str] = []
    run = prepare(seed, emphasis, events.append, reduction)
    follow(run, splits)
    failure = None
    try:
        play(run)
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        failure = f"{type(error).__name__}: {error}"
    parts = frozenset(run.parts)
    return Trial(failure, run.faults.made, parts, run.profile.faulty_ms, _decisive(events))


def _decisive(events: list[str]) -> list[str]:
    """Faults, and what is said to people, without the details."""
    return [
        event for event in events if not event[10:14].isspace() or event[14:].startswith("fault ")
    ]


def report(seed: int, emphasis: str | None, shrinker: Shrinker, splits: Splits = ()) -> str:
    """What is left, how to repeat it, and the last events as a table."""
    trial = shrinker.trial
    command = f"python -m barnabas.sim --seed {seed}"
    if emphasis:
        command += f" --emphasis {emphasis}"
    if splits:
        command += f" --splits {written(splits)}"
    rows = [_row(event) for event in trial.events[-_SHOWN:]]
    parts = ", ".join(sorted(trial.parts)) or "one producer and one consumer"
    left = f"{len(trial.faults)} faults in {trial.faulty_ms / 1000:.1f} s, with {parts}"
    return "\n".join(
        [
            f"{shrinker.attempts} smaller runs were tried. What is left: {left}",
            "",
            f"  {command} {shrinker.smallest}".rstrip(),
            "",
            "shows it. The last events:",
            "",
            "| Second | What |",
            "| ---: | --- |",
            *rows,
            "",
            str(trial.failure),
        ]
    )


def _row(event: str) -> str:
    time, _, what = event.strip().partition(" ")
    return f"| {time} | {what.strip()} |"
