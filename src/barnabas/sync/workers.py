"""Several workers of one queue at a time, as threads. `aio/workers.py` has the same for tasks."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Event, Thread, current_thread, main_thread


def run_workers(
    count: int,
    work: Callable[[], None],
    stop: Callable[[], None],
    stop_timeout_s: float,
) -> None:
    """Run `work` so many times at once, until all have ended, and raise what one has raised.

    If one raises, or Ctrl-C interrupts this, or SIGTERM comes, `stop` is called and the others have
    `stop_timeout_s` to end. A thread can not be ended from outside: one that takes longer is left
    behind, and does not keep the program from ending.
    """
    is_over = Event()
    workers = [_start(work, number) for number in range(count)]

    def ended(worker: "Future[None]") -> None:
        if worker.exception() is not None or all(each.done() for each in workers):
            is_over.set()

    for each in workers:
        each.add_done_callback(ended)
    with _termination(is_over):
        try:
            is_over.wait()
        finally:
            stop()
            wait(workers, timeout=stop_timeout_s)
    for each in workers:
        if each.done():
            each.result()


@contextmanager
def _termination(is_over: Event) -> Iterator[None]:
    """Set the event when SIGTERM comes, unless the program handles that itself."""
    if (
        current_thread() is not main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    # A thread sets it: the signal may interrupt this one while it holds the lock of the event.
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=is_over.set, daemon=True).start())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _start(work: Callable[[], None], number: int) -> "Future[None]":
    ended: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by who waits
            ended.set_exception(error)
        else:
            ended.set_result(None)

    Thread(target=run, name=f"barnabas-worker-{number}", daemon=True).start()
    return ended
