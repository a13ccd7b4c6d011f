"""Who may write: the instance that has opened the registry's transactional id last.

Opening it fences the one before for good: whatever that still writes is refused by the brokers, and
no clock decides. Only then is the log read to its end, past a record of the new writer itself. So
all that was ever committed is known before the first id is given, and no id is given twice.

Nobody has to notice that a writer has died. The next change finds it dead and takes over.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol, Self, TypeVar

from barnabas.aio.producer import Producer
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import BarnabasError
from barnabas.registry.log import RegistryLog
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.records import LogRecord, writer_record
from barnabas.registry.model.registration import RegistryChange
from barnabas.registry.settings import RegistrySettings

T = TypeVar("T")
_log = logging.getLogger("barnabas.registry")
_WRITE_TIMEOUT_S = 10.0
_DELIVERY_MS = 10_000


class WriterLostError(BarnabasError):
    """This instance does not write, or no longer: the change has to be decided again."""


class FencingProducer(Protocol):
    """What a writer needs of the producer that holds the transactional id."""

    async def __aenter__(self) -> Self:
        """Take the id over from its last owner."""

    def transaction(self) -> AbstractAsyncContextManager[object]:
        """All that is sent in it becomes visible together, or never."""

    async def send(
        self, topic: str, value: bytes | None, key: bytes | None, *, partition: int
    ) -> Sent:
        """Queue a record."""

    async def close(self, timeout_s: float) -> None: ...


def transactional_producer(settings: RegistrySettings) -> Producer[bytes, bytes]:
    """One with the id of the registry."""
    return Producer(
        settings.bootstrap,
        transactional_id=settings.transactional_id,
        transaction_timeout_ms=_DELIVERY_MS,
        delivery_timeout_ms=_DELIVERY_MS,
        request_timeout_ms=_DELIVERY_MS // 2,
        linger_ms=0,
        auto_create=False,
        client_id="schema-registry",
        security=settings.security,
    )


class RegistryWriter:
    """Writes changes, while this instance is the writer."""

    def __init__(
        self,
        settings: RegistrySettings,
        log: RegistryLog,
        url: str,
        new_producer: Callable[[RegistrySettings], FencingProducer] = transactional_producer,
    ) -> None:
        self.url = url
        """Under which other instances reach this one."""
        self.takeovers = 0
        self.written = 0
        self._settings = settings
        self._log = log
        self._lock = asyncio.Lock()
        self._new_producer = new_producer
        self._producer: FencingProducer | None = None
        """Only while the image has all that was ever written: after any doubt there is none."""

    @property
    def is_writer(self) -> bool:
        """As far as this instance knows: the brokers refuse a former one."""
        return self._producer is not None and self._log.image.writer == self.url

    async def write(self, decide: Callable[[RegistryImage], RegistryChange[T]]) -> T:
        """Decide a change by all that was ever written, and write it. Raises `WriterLostError`."""
        async with self._lock:
            if not self.is_writer:
                raise WriterLostError("another instance writes")
            change = decide(self._log.image)
            if change.records:
                assert self._producer is not None
                await self._write(self._producer, change.records)
                self.written += 1
            return change.answer

    async def take_over(self, former: str | None) -> None:
        """Become the writer in place of a former one, unless there is a newer one by now."""
        async with self._lock:
            if self.is_writer or self._log.image.writer != former:
                return
            loop = asyncio.get_running_loop()
            began = loop.time()
            await self._drop()
            producer = await self._new_producer(self._settings).__aenter__()
            try:
                await self._log.catch_up(_WRITE_TIMEOUT_S)
            except BaseException:
                await self._close(producer)
                raise
            announced: dict[str, int] | None = None
            while announced != self._log.image.max_ids:
                announced = dict(self._log.image.max_ids)
                await self._write(producer, [writer_record(self.url, announced)])
            self._producer = producer
            self.takeovers += 1
            _log.info("%s writes now, after %.2f s", self.url, loop.time() - began)

    async def resign(self) -> None:
        """Say that nobody writes, so that the next change does not look for this instance."""
        async with self._lock:
            if self.is_writer and self._producer is not None:
                with suppress(BarnabasError):
                    await self._write(
                        self._producer, [writer_record(None, self._log.image.max_ids)]
                    )
            await self._drop()

    async def _write(self, producer: FencingProducer, records: Sequence[LogRecord]) -> None:
        """Write records together, and have them in the image.

        If that fails, or is cancelled, it is not known what the log has: the producer is closed, so
        that nothing is decided before the log was read to its end again.
        """
        try:
            async with producer.transaction():
                for each in records:
                    sent = await producer.send(
                        self._settings.topic, each.value, each.key, partition=0
                    )
                delivery = await sent
            await self._log.reach(delivery.offset, _WRITE_TIMEOUT_S)
        except BaseException as error:
            self._producer = None
            await self._close(producer)
            if not isinstance(error, BarnabasError):
                raise
            _log.info("%s no longer writes: %s", self.url, error)
            raise WriterLostError(str(error)) from error

    async def _drop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await self._close(producer)

    @staticmethod
    async def _close(producer: FencingProducer) -> None:
        with suppress(BarnabasError):
            await producer.close(0)
