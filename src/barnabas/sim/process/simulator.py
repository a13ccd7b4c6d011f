"""Virtual time: one heap of events, run one after the other in one thread.

Everything that happens in a simulation is an event here, so the order of events is the order of the
simulated world, and the same seed gives the same order. Time is counted in whole microseconds, as
sums of fractions would depend on how they are added up.

Randomness comes from `Simulator.source`, one stream per purpose: a change in what one part of the
simulation draws does not shift what the others draw.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable
from hashlib import blake2b
from random import Random
from weakref import WeakKeyDictionary

EVENTS_AT_ONCE = 100_000
"""More events than this at one moment mean an endless loop."""


class Stuck(AssertionError):  # noqa: N818 - a state, as people say it
    """Nothing is known to be wrong, but nothing goes on either."""


class Simulator:
    """Time, chance, and the record of what happened."""

    def __init__(self, seed: int | str, say: Callable[[str], None] | None = None) -> None:
        self.seed = seed
        self.now_us = 0
        self._heap: list[tuple[int, int, Callable[[], object]]] = []
        """Events to come, with their time and their number."""
        self._due: deque[Callable[[], object]] = deque()
        """Events of the present moment, in the order in which they were scheduled."""
        self._count = 0
        self._say = say
        self._trace = blake2b(digest_size=16)
        self.events = 0
        self.reached: Counter[str] = Counter()
        """States that matter, and how often they were reached."""
        self.failure: BaseException | None = None
        """Set by whatever can not raise it itself: it ends the run."""
        self.on_first: Callable[[str], None] | None = None
        """Told of each state when it is reached for the first time."""
        self._sources: WeakKeyDictionary[Random, str] = WeakKeyDictionary()
        """Those in use, with their purposes."""

    def source(self, purpose: str) -> Random:
        """A stream of random numbers of its own."""
        source = Random(f"{self.seed}/{purpose}")  # noqa: S311 - it is to be repeatable
        self._sources[source] = purpose
        return source

    def branch(self, name: str) -> None:
        """Let everything that is drawn from now on be drawn otherwise."""
        self.seed = f"{self.seed}@{name}"
        for source, purpose in self._sources.items():
            source.seed(f"{self.seed}/{purpose}")
        self.say(f"goes on as {self.seed}")

    def at(self, at_us: int, action: Callable[[], object]) -> None:
        if at_us <= self.now_us:
            self._due.append(action)
        else:
            self._count += 1
            heapq.heappush(self._heap, (at_us, self._count, action))

    def after(self, delay_us: int, action: Callable[[], object]) -> None:
        if delay_us <= 0:
            self._due.append(action)
        else:
            self._count += 1
            heapq.heappush(self._heap, (self.now_us + delay_us, self._count, action))

    def run_until(self, end_us: int) -> None:
        """Let time pass; an exception of an event ends it there."""
        heap, due = self._heap, self._due
        while True:
            at_once = 0
            while due:
                action = due.popleft()
                at_once += 1
                if at_once > EVENTS_AT_ONCE:
                    raise Stuck(f"{EVENTS_AT_ONCE} events at {self.now_us} us, the last {action}")
                self.events += 1
                action()
                if self.failure is not None:
                    raise self.failure
            if not heap or heap[0][0] > end_us:
                break
            now_us = self.now_us = heap[0][0]
            while heap and heap[0][0] == now_us:
                due.append(heapq.heappop(heap)[2])
        self.now_us = end_us

    def run_until_true(self, condition: Callable[[], bool], within_us: int, what: str) -> None:
        """Let time pass until `condition` holds; it is looked at every ten milliseconds."""
        end_us = self.now_us + within_us
        while not condition():
            if self.now_us >= end_us:
                raise Stuck(f"not within {within_us // 1000} ms: {what}")
            self.run_until(self.now_us + 10_000)

    @property
    def is_read(self) -> bool:
        """Whether a trace is printed."""
        return self._say is not None

    def reach(self, state: str) -> None:
        if self.on_first is not None and state not in self.reached:
            self.on_first(state)
        self.reached[state] += 1

    # -- what happened -----------------------------------------------------------------------------

    def note(self, what: bytes) -> None:
        """Make `what` part of the trace that two runs of a seed have in common."""
        self._trace.update(b"%d:%b" % (self.now_us, what))

    def say(self, text: str) -> None:
        """Something worth reading, for people; it is part of the trace too."""
        self.note(text.encode())
        if self._say is not None:
            self._say(f"{self.now_us / 1e6:10.6f}  {text}")

    def remark(self, text: str, *arguments: object) -> None:
        """A detail, formatted only if a trace is printed."""
        if self._say is not None:
            self._say(f"{self.now_us / 1e6:10.6f}    {text % arguments}")

    @property
    def trace_digest(self) -> str:
        return self._trace.hexdigest()
