"""Handles lists of records: as a whole, and record by record if that fails."""

import logging
from collections.abc import Sequence

from barnabas.app.attempts import Attempts, SentResult, confirmed
from barnabas.app.handler import Handler
from barnabas.app.letters import Original, reason_of
from barnabas.app.runners.refusals import Refusals
from barnabas.app.undelivered import SinkFailed
from barnabas.errors import UndecodableRecord
from barnabas.quantities import counted
from barnabas.records.message import Message

_log = logging.getLogger("barnabas.app")

Pair = tuple[Message, Message]  # a record as it was read, and decoded


class Batches:
    """Of one handler that takes lists."""

    def __init__(self, handler: Handler, attempts: Attempts, refusals: Refusals) -> None:
        self._handler = handler
        self._attempts = attempts
        self._refusals = refusals
        self._statistics = handler.statistics

    async def handle(self, messages: list[Message]) -> None:
        """Those that can't be decoded are given up; the others are handled together."""
        good: list[Pair] = []
        for message in messages:
            try:
                good.append((message, self._handler.invocation.decoded(message)))
            except UndecodableRecord as error:
                await self._attempts.give_up(Original(message, attempts=1), error)
        if not good:
            return
        if any(self._refusals.is_known(each) for each, _ in good):
            for pair in good:
                await self._alone(pair)
            return
        failure, attempts = await self._try(good, self._handler.policy.retries)
        if failure is None:
            return
        if len(good) == 1:
            await self._attempts.give_up(Original(good[0][0], attempts=attempts), failure)
            return
        for pair in good:  # each alone, so that one can't spoil the others
            failure, _ = await self._try([pair], 0)
            if failure is not None:
                await self._attempts.give_up(Original(pair[0], attempts=attempts + 1), failure)

    async def _try(self, pairs: Sequence[Pair], retries: int) -> tuple[Exception | None, int]:
        """Call the function, and again as often as allowed; the last failure, and the attempts."""
        attempt = 1
        while True:
            try:
                await self._call(pairs)
            except SinkFailed as failed:
                raise failed.error from failed
            except Exception as error:  # noqa: BLE001 - whatever a handler raises
                self._statistics.failed += 1
                failure = error
            else:
                return None, attempt
            if attempt > retries:
                return failure, attempt
            self._tell(pairs, attempt, failure)
            await self._attempts.pause(self._handler.policy.pause_s(attempt))
            self._statistics.retried += 1
            attempt += 1

    async def _call(self, pairs: Sequence[Pair]) -> None:
        sent = await self._send(pairs)
        if not self._handler.exactly_once:
            await confirmed(sent)
        self._refusals.expect([each for each, _ in pairs], sent)

    async def _send(self, pairs: Sequence[Pair]) -> list[SentResult]:
        argument = self._handler.invocation.batch_argument([given for _, given in pairs])
        result = await self._attempts.call_with(argument)
        records = await self._attempts.encoded(result, pairs[-1][0]._replace(key=None))
        return await self._attempts.send(records)

    async def _alone(self, pair: Pair) -> None:
        """The results of a record in this list were refused, and the list comes again."""

        async def give_up(original: Original, error: Exception) -> list[SentResult]:
            if isinstance(error, SinkFailed):
                raise error.error
            self._statistics.failed += 1
            await self._attempts.give_up(original._replace(attempts=original.attempts + 1), error)
            return []

        if self._refusals.is_known(pair[0]):
            await self._refusals.handle(pair[0], lambda: self._send([pair]), give_up)
            return
        failure, attempts = await self._try([pair], self._handler.policy.retries)
        if failure is not None:
            await self._attempts.give_up(Original(pair[0], attempts=attempts), failure)

    def _tell(self, pairs: Sequence[Pair], attempt: int, failure: Exception) -> None:
        first, last = pairs[0][0], pairs[-1][0]
        _log.warning(
            "%s: %s from %s-%d at offset %d on: attempt %d failed: %s",
            self._handler.name,
            counted(len(pairs), "record"),
            first.topic,
            first.partition,
            first.offset,
            attempt,
            reason_of(failure),
            extra={
                "handler": self._handler.name,
                "topic": first.topic,
                "partition": first.partition,
                "offset": first.offset,
                "last_offset": last.offset,
            },
        )
