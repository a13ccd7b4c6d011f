"""A handler that was cancelled has failed; one whose own task is cancelled has to end."""

import asyncio


class Cancelled(Exception):  # noqa: N818 - the reason of a dead letter begins with the name
    """In the place of a `CancelledError`, which would end what calls handlers."""

    def __init__(self) -> None:
        super().__init__("the function awaited something that was cancelled")


def failure_of(error: Exception | asyncio.CancelledError, *, in_thread: bool = False) -> Exception:
    """What a handler has failed by. Raises the error if it asks the task itself to end.

    A plain function `in_thread` is never asked to.
    """
    if isinstance(error, Exception):
        return error
    task = None if in_thread else asyncio.current_task()
    if task is not None and task.cancelling():
        raise error
    failure = Cancelled()
    failure.__cause__ = error
    return failure
