"""The threads of a simulated process."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class SimulatedExecutor(Executor):
    """Threads: `loop.run_in_executor` queues jobs here; direct submission runs them at once."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.running = 0
        self.queued: deque[Callable[[], None]] = deque()
        self.unfinished: dict[int, Callable[[], None]] = {}

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Any:
        from concurrent.futures import Future as Result

        result: Result[T] = Result()
        try:
            result.set_result(fn(*args, **kwargs))
        except (OSError, ValueError, AssertionError) as error:
            result.set_exception(error)
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As with threads, everything that was queued is done when this returns."""
        del wait, cancel_futures
        for job in tuple(self.unfinished.values()):
            job()
