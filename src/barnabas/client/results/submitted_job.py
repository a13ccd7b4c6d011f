"""A job whose result is waited for."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from barnabas.client.outcome import Outcome
from barnabas.client.producer.sent_record import Sent
from barnabas.client.results.result_record import JobResult
from barnabas.errors import BarnabasError, JobFailed

Decode = Callable[[bytes | None], Any]


class SubmittedJob:
    """What `submit` returns. Wait for the result with `result()` or `await`, in any thread or loop.

    `id` finds the result later, from any process: `queue.submitted(id)`.
    """

    __slots__ = ("__weakref__", "_decode", "_outcome", "id")

    def __init__(self, job_id: str, decode: Decode) -> None:
        self.id = job_id
        self._decode = decode
        self._outcome: Outcome[JobResult] = Outcome()

    def done(self) -> bool:
        """Whether there is a result, or the job has failed."""
        return self._outcome.is_set

    def result(self, timeout_s: float | None = None) -> Any:
        """Wait for what the handler returned, and return it.

        Raises `JobFailed` if the job was rejected or has become a dead letter, the error of its
        delivery if it was not stored, and TimeoutError. A result that came is never forgotten.
        """
        if not self._outcome.wait(timeout_s):
            raise TimeoutError(
                f"job {self.id} has no result after {timeout_s:g} s: does a worker of the group "
                "run, and return? Wait again, here or with queue.submitted(id)"
            )
        return self._result()

    def exception(self, timeout_s: float | None = None) -> BarnabasError | None:
        """Wait, and return the error, or None if there is a result."""
        try:
            self.result(timeout_s)
        except BarnabasError as error:
            return error
        return None

    def __await__(self) -> Generator[Any, None, Any]:
        if not self._outcome.is_set:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()

            def wake() -> None:
                if not future.done():
                    future.set_result(None)

            def stir() -> None:
                with suppress(RuntimeError):  # that loop has ended, with its waiters
                    loop.call_soon_threadsafe(wake)

            self._outcome.when_set(stir)
            yield from future
        return self._result()

    def finish(self, result: JobResult) -> None:
        """For the core alone: a worker has answered."""
        self._outcome.set(result)

    def fail(self, error: BarnabasError) -> None:
        """For the core alone: nothing will come."""
        self._outcome.set(error=error)

    def sent(self, sent: Sent) -> None:
        """For the core alone: the job is stored, or it is not."""
        error = sent.exception()
        if error is not None:
            self.fail(error)

    def _result(self) -> Any:
        found = self._outcome.result()
        if found.error is not None:
            raise JobFailed(self.id, found.error)
        return self._decode(found.value)

    def __repr__(self) -> str:
        return f"<SubmittedJob {self.id}, {'done' if self.done() else 'under way'}>"
