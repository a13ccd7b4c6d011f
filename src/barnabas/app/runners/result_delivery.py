"""The results of a handler of single records, from the function to their topics."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from barnabas.app.attempts import Attempts, SentResult, Stopped
from barnabas.app.letters import Original
from barnabas.app.outgoing import Encoded
from barnabas.app.ports import Source
from barnabas.app.runners.deliveries import Deliveries
from barnabas.app.undelivered import is_of_record
from barnabas.errors import DeliveryFailed
from barnabas.records.message import Message

_LOOK_S = 0.02


class ResultDelivery:
    """Of one handler. `fail` is told what can't be delivered because of the cluster."""

    def __init__(
        self,
        attempts: Attempts,
        source: Source,
        original: Callable[[Message], Original],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._attempts = attempts
        self._source = source
        self._original = original
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._deliveries = Deliveries(source.done, self._undelivered)
        self._sent: list[tuple[Message, list[SentResult]]] = []
        self._resending: set[Future[None]] = set()

    async def send(self, result: Any, message: Message, *, is_done: bool = False) -> None:
        """Send what a handler returned.

        With `is_done` the record is done when that is delivered; otherwise wait for `delivered`.
        """
        sent = await self._attempts.send(await self._attempts.encoded(result, message))
        if is_done:
            self._deliveries.expect(message, sent)
        elif sent:
            self._sent.append((message, sent))

    def send_from_thread(self, result: Any, message: Message, *, is_done: bool = False) -> None:
        """The same, from the thread of a plain function."""
        if result is None:
            if is_done:
                self._source.done(message)
            return
        sending = self.send(result, message, is_done=is_done)
        asyncio.run_coroutine_threadsafe(sending, self._loop).result()

    async def delivered(self) -> Message | None:
        """Wait for the results of a list; raises if one of them can't be delivered.

        If the handler is stopped meanwhile, return the first record whose result is not delivered.
        """
        results, self._sent = self._sent, []
        if results:
            await self._flush()
        for message, sent in results:
            refused = []
            for each in sent:
                error = each.receipt.exception()
                if error is not None and not is_of_record(error):
                    raise error
                if error is not None:
                    refused.append(each.record)
            if refused:
                try:
                    await self._attempts.resend(self._original(message), refused)
                except Stopped:
                    return message
        return None

    async def settled(self) -> None:
        """Wait until all results are delivered, or their records are stored elsewhere."""
        await self._flush()
        while self._deliveries.pending or self._resending:  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(_LOOK_S)

    async def _flush(self) -> None:
        with suppress(DeliveryFailed):  # told for each result
            await self._attempts.sink.flush()

    def _undelivered(self, message: Message, records: list[Encoded], error: BaseException) -> None:
        """Of records side by side; called in the thread that sends."""
        if is_of_record(error):
            resending = self._resend(message, records)
            future = asyncio.run_coroutine_threadsafe(resending, self._loop)
            self._resending.add(future)
            future.add_done_callback(self._resending.discard)
        else:
            self._fail(error)

    async def _resend(self, message: Message, records: list[Encoded]) -> None:
        try:
            await self._attempts.resend(self._original(message), records)
        except Exception as error:  # noqa: BLE001 - raised by the runner
            self._fail(error)
        else:
            self._source.done(message)
