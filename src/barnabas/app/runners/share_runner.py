"""Runs a handler over a share group: any worker gets any record, and each is acknowledged alone.

    the function returns    its results are stored, and the record is accepted; who has submitted it
                            gets what was returned, if that is sent nowhere else
    it raises               released, to be delivered again after a pause, `retries` times at most
    after that              a dead letter and rejected; or as `on_failure` says

Brokers count deliveries: also those to workers that died in the middle, and those that were given
back unhandled, when a worker stops. So the count says nothing before the function has failed, and
each delivery is handled. The last one that brokers allow is not, if there are dead letters: the
record has killed its workers, as far as is known, and would be dropped if it did so again. Without
dead letters it may be dropped, so it is handled.
"""

import asyncio
from datetime import datetime

from barnabas.app.attempts import FOR_GOOD, Attempts, confirmed
from barnabas.app.handler import Handler
from barnabas.app.letters import Original, reason_of
from barnabas.app.ports import Job, Jobs
from barnabas.app.undelivered import SinkFailed
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.share.delivery_limit import DeliveryLimit
from barnabas.client.share.settlement import MAX_DELAY_S
from barnabas.errors import HandlerFailed, InvalidArgument, RetryAfter

_GET_S = 0.25


class NoRewinds:
    """A share group has no position to go back to."""

    async def ask(self, _when: datetime | None) -> None:
        raise InvalidArgument(
            "a share group has no offset to go back to; use a consumer group (share=False)"
        )


class ShareRunner:
    """Of one handler."""

    def __init__(
        self, handler: Handler, jobs: Jobs, attempts: Attempts, limit: DeliveryLimit
    ) -> None:
        self._handler = handler
        self._jobs = jobs
        self._attempts = attempts
        self._limit = limit
        self._statistics = handler.statistics
        self._resumed = asyncio.Event()
        self._resumed.set()
        self._is_paused = False
        self.rewinds = NoRewinds()

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @is_paused.setter
    def is_paused(self, paused: bool) -> None:
        self._is_paused = paused
        if paused:
            self._resumed.clear()
            self._jobs.pause()
        else:
            self._resumed.set()
            self._jobs.resume()

    async def run(self) -> None:
        """Until `stop`, or a record fails for good; then it raises."""
        workers = [asyncio.ensure_future(self._work()) for _ in range(self._handler.concurrency)]
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            failures = [each.exception() for each in done if not each.cancelled()]
            if any(failures):
                self.stop()  # the others finish what they have
            failures += await asyncio.gather(*workers, return_exceptions=True)
            for failure in failures:
                if failure is not None:
                    raise failure
        finally:
            for each in workers:
                each.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def stop(self) -> None:
        """Finish what is being handled, and end."""
        self._attempts.stopping.set()
        self._resumed.set()
        self._jobs.stop()

    async def revoked(self, partitions: list[TopicPartition]) -> None:
        """Members of share groups own no partitions."""

    async def lost(self, partitions: list[TopicPartition]) -> None:
        """The same."""

    async def _work(self) -> None:
        while not self._attempts.stopping.is_set():
            await self._resumed.wait()
            job = await self._jobs.get(_GET_S)
            if job is None:
                continue
            if self._attempts.stopping.is_set():
                job.release()
                continue
            self._statistics.in_flight += 1
            try:
                await self._handle(job)
            finally:
                self._statistics.in_flight -= 1

    async def _handle(self, job: Job) -> None:
        original = Original(job.record, attempts=job.delivery_count)
        if self._handler.dead_letters and await self._limit.is_reached(job.delivery_count):
            died = HandlerFailed(
                "it was delivered before, and no worker has finished it; its worker may have "
                "written a dead letter already"
            )
            previous = original._replace(attempts=job.delivery_count - 1)
            await self._end(job, previous, died)
            return
        try:
            result = await self._attempts.attempt(job.record)
            await confirmed(
                await self._attempts.send(await self._attempts.encoded(result, job.record))
            )
            job.accept(result if self._handler.results is None else None)
        except SinkFailed as failed:
            job.release()
            raise failed.error from failed
        except Exception as error:  # noqa: BLE001 - whatever a handler raises
            self._statistics.failed += 1
            await self._failed(job, original, error)
        except BaseException:  # cancelled
            job.release()
            raise
        else:
            self._statistics.handled += 1

    async def _failed(self, job: Job, original: Original, error: Exception) -> None:
        policy = self._handler.policy
        is_last = job.delivery_count > policy.retries or isinstance(error, FOR_GOOD)
        if is_last or await self._limit.is_reached(job.delivery_count):
            await self._end(job, original, error)
            return
        pause_s = policy.pause_s(job.delivery_count)
        if isinstance(error, RetryAfter):
            pause_s = max(pause_s, error.after_s)
        self._statistics.retried += 1
        self._attempts.tell(
            original.message,
            error,
            f"delivery {job.delivery_count} failed, released for {pause_s:.3g} s",
        )
        job.release(delay=min(pause_s, MAX_DELAY_S))

    async def _end(self, job: Job, original: Original, error: Exception) -> None:
        """Store it elsewhere, then reject it; raises if it has to stay where it is."""
        try:
            await self._attempts.give_up(original, error)
        except BaseException:
            job.release()
            raise
        job.reject(reason_of(error))
        self._statistics.handled += 1
