"""Several workers of one queue at a time, as threads. `aio/workers.py` has the same for tasks."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from threading import Thread


def run_workers(
    count: int,
    work: Callable[[], None],
    stop: Callable[[], None],
    stop_timeout_s: float,
) -> None:
    """Run `work` so many times at once, until all have ended, and raise what one has raised.

    If one raises, or Ctrl-C interrupts this, `stop` is called and the others have `stop_timeout_s`
    to end. A thread can not be ended from outside: one that takes longer is left behind, and does
    not keep the program from ending.
    """
    workers = [_start(work, number) for number in range(count)]
    try:
        wait(workers, return_when=FIRST_EXCEPTION)
    finally:
        stop()
        wait(workers, timeout=stop_timeout_s)
    for each in workers:
        if each.done():
            each.result()


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
