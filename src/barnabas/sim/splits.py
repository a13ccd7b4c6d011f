"""Runs that split: from an interesting moment on, a run takes one of many futures.

The faults of a run lead to a moment that matters, such as an unclean election, once in many runs.
From there on, what comes next decides whether a mistake shows. So while there are faults, the first
time that a run reaches one of `STATES` is a split point. Split points are numbered from 1. There a
run may go on with other random numbers, as future 1, 2 or any other; future 0 is the run that its
seed stands for.

A run is named by its seed and its splits, and repeats exactly: `--seed 17 --splits 3:2` takes
future 2 at the third split point. `explore` runs many futures for the price of one beginning: it
forks the process at a split point, where the cluster stands in memory.
"""

import os
import pickle
from collections.abc import Callable, Mapping
from typing import NamedTuple

from barnabas.sim.forks import Failure, write
from barnabas.sim.run import Outcome, Run, play, prepare

Splits = tuple[tuple[int, int], ...]
"""Split points of a run, each with the future that it takes there."""

STATES = frozenset(
    (
        "election: eligible leader replica",
        "election: unclean",
        "election: none, the partition has no leader",
        "in-sync set: below the minimum, with eligible leaders",
        "reassignment: begins",
        "quorum: a node begins with a snapshot",
        "quorum: a voter is added",
        "quorum: a voter is removed",
        "replica: log cut, overwritten or replaced",
        "replica: doubts its own log",
        "group: classic, then Consumer",
        "group: Consumer, then classic",
        "transaction: PREPARE_ABORT",
        "transaction: PREPARE_COMMIT",
        "error: COORDINATOR_LOAD_IN_PROGRESS",
        "error: FENCED_LEADER_EPOCH",
        "error: INVALID_PRODUCER_EPOCH",
        "error: KAFKA_STORAGE_ERROR",
        "error: NOT_ENOUGH_REPLICAS",
        "error: PRODUCER_FENCED",
        "error: REBALANCE_IN_PROGRESS",
        "error: STALE_MEMBER_EPOCH",
        "error: UNSTABLE_OFFSET_COMMIT",
    )
)
MOST_POINTS = 6
"""Where `explore` forks, at most, in a run."""
_FAULTS_US = 1_500_000
"""How long a future has faults, at most: what matters has just happened."""


class Splitter:
    """Numbers the split points of a run, and asks which future to take at each."""

    def __init__(self, run: Run, choose: Callable[[int], int]) -> None:
        self._run = run
        self._simulator = run.simulator
        self._choose = choose
        self._points = 0
        self._is_due = False
        run.simulator.on_first = self._reached

    def _reached(self, state: str) -> None:
        """Split between two events, where no code of the product is under way."""
        if state in STATES and self._run.faults.are_made and not self._is_due:
            self._is_due = True
            self._simulator.after(0, self._split)

    def _split(self) -> None:
        self._is_due = False
        self._points += 1
        future = self._choose(self._points)
        if future:
            self._simulator.branch(f"{self._points}:{future}")
            self._run.end_faults_within(_FAULTS_US)


def follow(run: Run, splits: Splits) -> None:
    """Let a run take these futures."""
    futures: Mapping[int, int] = dict(splits)
    if futures:
        Splitter(run, lambda point: futures.get(point, 0))


class Future(NamedTuple):
    """What has come of a future of a run."""

    splits: Splits
    """Empty: the run that its seed stands for."""
    result: Outcome | Failure
    shared_ms: int = 0
    """How much of its time was simulated only once, for it and for others."""


class _Explorer:
    """Forks a process for every future of a run, one after the other."""

    def __init__(self, run: Run, futures: int) -> None:
        self._simulator = run.simulator
        self._futures = futures
        self.results: list[Future] = []
        self.pipe: int | None = None
        """In a forked process: where its result goes. It forks no more."""

    def choose(self, point: int) -> int:
        if self.pipe is not None or point > MOST_POINTS:
            return 0
        for future in range(1, self._futures + 1):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                self.pipe = writing
                return future
            os.close(writing)
            shared_ms = self._simulator.now_us // 1000
            result = _result(pid, reading)
            self.results.append(Future(((point, future),), result, shared_ms))
        return 0


def _result(pid: int, pipe: int) -> Outcome | Failure:
    with os.fdopen(pipe, "rb") as file:
        data = file.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        return Failure("Died", f"its process ended with {code}")
    result: Outcome | Failure = pickle.loads(data)  # noqa: S301 - of our own process
    return result


def explore(seed: int, futures: int = 0, emphasis: str | None = None) -> list[Future]:
    """Run a seed, and so many futures from each of its first split points."""
    run = prepare(seed, emphasis)
    explorer = _Explorer(run, futures)
    if futures:
        Splitter(run, explorer.choose)
    code = 1
    try:
        outcome = _played(run)
        if explorer.pipe is not None:
            write(explorer.pipe, pickle.dumps(outcome))
            code = 0
    finally:
        if explorer.pipe is not None:
            os._exit(code)
    return [Future((), outcome), *explorer.results]


def _played(run: Run) -> Outcome | Failure:
    try:
        play(run)
    except Exception as error:  # noqa: BLE001 - told with the name of the run
        return Failure(type(error).__name__, str(error))
    return run.outcome()


def written(splits: Splits) -> str:
    """As the command takes them."""
    return ",".join(f"{point}:{future}" for point, future in splits)


def parsed(text: str) -> Splits:
    """Raises ValueError."""
    pairs = (part.split(":") for part in text.split(","))
    return tuple((int(point), int(future)) for point, future in pairs)
