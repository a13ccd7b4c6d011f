"""One record, from its first attempt until it is done: retried, put off, or given up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any, NamedTuple

from barnabas.app.cancelled import failure_of
from barnabas.app.clock import Clock
from barnabas.app.dependencies import Resolver, RunSync
from barnabas.app.handler import Handler, Middleware, Next
from barnabas.app.letters import Original, reason_of, retry_headers
from barnabas.app.logs import current_handler, current_message
from barnabas.app.one_context import OneContext
from barnabas.app.outgoing import Encoded
from barnabas.app.ports import Sink
from barnabas.app.state.attempt_state import AttemptState
from barnabas.app.state.handler_states import CONFIRMED_BYTES, HandlerStates
from barnabas.app.undelivered import SinkFailed, delivered, is_of_record
from barnabas.client.producer.dead_letters import letter_headers
from barnabas.errors import (
    BarnabasError,
    GiveUp,
    HandlerFailed,
    NotAuthorized,
    RetryAfter,
    UndecodableRecord,
    UnknownTopic,
)
from barnabas.formats import SchemaNotLoadedError
from barnabas.quantities import counted
from barnabas.records.message import Message
from barnabas.tracing import span

_log = logging.getLogger("barnabas.app")
FOR_GOOD = (UndecodableRecord, GiveUp)
"""What another attempt would end with as well."""


class Stopped(Exception):  # noqa: N818 - a signal
    """The application stops: the record is not done, and will be read again."""


class SentResult(NamedTuple):
    """A result on its way."""

    record: Encoded
    receipt: Any


class Attempts:
    """Of one handler. `is_stopping` ends pauses."""

    def __init__(
        self,
        handler: Handler,
        sink: Sink,
        clock: Clock,
        resolver: Resolver,
        middleware: list[Middleware],
        run_sync: RunSync,
    ) -> None:
        self._handler = handler
        self.clock = clock
        self._resolver = resolver
        self._middleware = middleware
        self._run_sync = run_sync
        self.sink = sink
        self.active = 0
        """Calls of the handler that have not returned."""
        self.is_watched = False
        """Whether each call counts, as in tests."""
        self.renew_sink: Callable[[], Awaitable[Sink]] | None = None
        """Makes another producer in the place of one that was fenced."""
        self.use_member: Callable[[str], Awaitable[None]] | None = None
        """Makes the producer for transactions the one of a member of the group."""
        self.states: HandlerStates | None = None
        """Of a handler with a `State`."""
        self.stopping = asyncio.Event()

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the function itself is to be called."""
        return self._handler.invocation.is_plain and not self._middleware and not self.is_watched

    # -- one attempt ---------------------------------------------------------------------------

    async def attempt(self, message: Message, state: AttemptState | None = None) -> Any:
        """Call the handler once, with all that belongs to it."""
        began = perf_counter()
        self.active += 1
        current_handler.set(self._handler.name)
        current_message.set(message)
        try:
            with span(self._handler.name, message):
                return await self._through(message, 0, state)
        except asyncio.CancelledError as error:
            raise failure_of(error) from error
        finally:
            current_message.set(None)
            self.active -= 1
            self._handler.statistics.seconds.observe(perf_counter() - began)

    async def deliver(self, message: Message) -> list[SentResult]:
        """Call the handler once, and send what it returns: what can't be sent is a failure too.

        Returns when it is delivered; in a transaction, whose end waits for that, when it is sent.
        """
        state = None if self.states is None else self.states.attempt(message)
        try:
            result = await self.attempt(message, state)
        finally:
            if self.states is not None and self.states.unreadable is not None:
                raise SinkFailed(self.states.unreadable)  # the same for each attempt
        sent = await self.send(await self.encoded(result, message))
        if not self._handler.exactly_once:
            await confirmed(sent)
        if self.states is not None and state is not None and state.change is not None:
            sent += await self._send_change(self.states, message, state.change)
        return sent

    async def _send_change(
        self, states: HandlerStates, message: Message, changed: Encoded
    ) -> list[SentResult]:
        """Send what the handler has changed in its state, after its results.

        It is part of the transaction, or is stored before the offset is committed.
        """
        is_large = len(changed.value or b"") > CONFIRMED_BYTES
        is_waited_for = is_large or states.refused.is_suspect(message)
        try:
            sent = await self.send([changed])
            if is_waited_for and not self._handler.exactly_once:
                await confirmed(sent)
        except UnknownTopic as error:
            raise SinkFailed(states.deleted()) from error
        except NotAuthorized as error:  # it is the same for all records
            raise SinkFailed(error) from error
        states.change(changed, sent[0].receipt)
        return sent

    async def encoded(self, result: Any, message: Message) -> list[Encoded]:
        """What the handler returned, as records to send."""
        results = self._handler.results
        if results is None:
            return []
        while True:
            try:
                return results.of(result, message)
            except SchemaNotLoadedError as needed:
                load = needed.load
            try:
                await asyncio.to_thread(load)
            except BarnabasError as error:  # it is the same for all records
                raise SinkFailed(error) from error

    async def _through(self, message: Message, at: int, state: AttemptState | None) -> Any:
        if at == len(self._middleware):
            return await self._call(message, state)

        def call_next(given: Message) -> Any:
            return self._through(given, at + 1, state)

        following: Next = call_next
        return await self._middleware[at](message, following)

    async def _call(self, message: Message, state: AttemptState | None) -> Any:
        invocation = self._handler.invocation
        if state is None and not invocation.parameters.dependencies:
            if invocation.is_async:
                return await invocation.call(message)
            return await self._run_sync(invocation.call, message)
        arguments = invocation.arguments(message)
        if state is None:
            return await self.call_with(arguments)
        arguments |= state.open()
        try:
            return await self.call_with(arguments)
        except BaseException:
            state.forget()
            raise

    async def call_with(self, arguments: dict[str, Any]) -> Any:
        """Call the function with these arguments and its dependencies."""
        invocation = self._handler.invocation
        self.active += 1
        one = OneContext(self._run_sync)
        try:
            async with AsyncExitStack() as stack:
                cache: dict[Any, Any] = {}
                for name, depends in invocation.parameters.dependencies.items():
                    arguments[name] = await self._resolver.resolve(depends, stack, cache, one.run)
                if invocation.is_async:
                    return await invocation.function(**arguments)
                return await one.run(lambda: invocation.function(**arguments))
        except asyncio.CancelledError as error:
            raise failure_of(error) from error
        finally:
            one.restore()
            self.active -= 1

    # -- after a failure -----------------------------------------------------------------------

    async def recover(self, original: Original, error: Exception) -> list[SentResult]:
        """The first attempt has failed: try again as often as allowed, then give the record up.

        Returns the results of an attempt that succeeds, and none if it was put elsewhere. Raises if
        it is not the record that has failed, but the producer.
        """
        handler, message = self._handler, original.message
        _raise_if_of_sink(error)
        statistics = handler.statistics
        statistics.failed += 1
        attempts = original.attempts + 1
        for retry in range(1, handler.policy.retries + 1):
            if isinstance(error, FOR_GOOD):
                break
            pause_s = handler.policy.pause_s(retry)
            if isinstance(error, RetryAfter):
                if handler.policy.topics:
                    break  # others go on meanwhile
                if not handler.exactly_once:  # a transaction can't wait for long
                    pause_s = max(pause_s, error.after_s)
            self.tell(message, error, f"attempt {attempts} failed, the next in {pause_s:.3g} s")
            await self.pause(pause_s)
            statistics.retried += 1
            attempts += 1
            try:
                return await self.deliver(message)
            except Exception as failure:  # noqa: BLE001 - whatever a handler raises
                _raise_if_of_sink(failure)
                statistics.failed += 1
                error = failure
        await self.give_up(original._replace(attempts=attempts), error)
        return []

    async def send(self, records: Iterable[Encoded]) -> list[SentResult]:
        """Send results."""
        sent = []
        try:
            for each in records:
                receipt = await self.sink.send(
                    each.topic,
                    each.value,
                    each.key,
                    headers=each.headers,
                    partition=each.partition,
                )
                sent.append(SentResult(each, receipt))
        except BarnabasError as error:
            raise _classified(error) from error
        return sent

    async def resend(self, original: Original, refused: Sequence[Encoded]) -> None:
        """A broker has refused results: they may have been in one batch with bad ones of others.

        So they are sent again, alone. If they are refused again, their record has failed.
        """
        try:
            for each in refused:
                await confirmed(await self.send([each]))
        except Exception as error:  # noqa: BLE001 - what a producer raises
            await self.recover(original, error)

    async def give_up(self, original: Original, error: Exception) -> None:
        """Put the record into its next retry topic, or to the dead letters; or raise."""
        handler, message = self._handler, original.message
        stage = None
        if not isinstance(error, FOR_GOOD):
            after_s = error.after_s if isinstance(error, RetryAfter) else 0.0
            stage = handler.policy.next_stage(original.stage, after_s)
        if stage is not None:
            topic = handler.policy.topic_of(message.topic, stage)
            self.tell(message, error, f"attempt {original.attempts} failed, retried from {topic}")
            handler.statistics.retried += 1
            waiting = original._replace(stage=stage)
            await self._store(
                topic, message, retry_headers(waiting, handler.group_name, reason_of(error))
            )
        elif handler.dead_letters is not None:
            self.tell(message, error, f"given up after {counted(original.attempts, 'attempt')}")
            handler.statistics.dead_letters += 1
            headers = letter_headers(
                message, handler.group_name, reason_of(error), original.attempts
            )
            await self._store(handler.dead_letters, message, headers)
        elif handler.on_failure == "skip":
            self.tell(message, error, f"skipped after {counted(original.attempts, 'attempt')}")
        else:
            remedy = 'on_failure="skip"'
            if handler.group is not None:
                remedy = f'dead_letters="TOPIC", or {remedy}'
            again = "it is read again after the next start"
            if handler.share:
                again = "it is delivered again, unless share.delivery.count.limit is reached"
            times = counted(original.attempts, "time")
            raise HandlerFailed(
                f"handler {handler.name} failed {times} with the record at "
                f"offset {message.offset} of {message.topic}-{message.partition} "
                f"({reason_of(error)}); {again}. Mend it, or give the handler {remedy}"
            ) from error

    async def _store(self, topic: str, message: Message, headers: Any) -> None:
        sent = await self.sink.send(topic, message.value, message.key, headers=headers)
        if not self._handler.exactly_once:  # there, the transaction waits
            await sent

    async def pause(self, pause_s: float) -> None:
        """Wait; raises `Stopped` if the application stops meanwhile."""
        if not pause_s:
            return
        sleeping = asyncio.ensure_future(self.clock.sleep(pause_s))
        stopping = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()
        if self.stopping.is_set():
            raise Stopped

    def tell(self, message: Message, error: BaseException, what: str) -> None:
        """Log what has happened to a record."""
        _log.warning(
            "%s: %s-%d at offset %d: %s: %s",
            self._handler.name,
            message.topic,
            message.partition,
            message.offset,
            what,
            reason_of(error),
            extra={
                "handler": self._handler.name,
                "topic": message.topic,
                "partition": message.partition,
                "offset": message.offset,
            },
        )


async def confirmed(sent: Iterable[SentResult]) -> None:
    """Wait until all are delivered; raises if one is not."""
    try:
        await delivered(each.receipt for each in sent)
    except BarnabasError as error:
        raise _classified(error) from error


def _classified(error: BarnabasError) -> Exception:
    return error if is_of_record(error) else SinkFailed(error)


def _raise_if_of_sink(error: Exception) -> None:
    if isinstance(error, SinkFailed):
        raise error.error
