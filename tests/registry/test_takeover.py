"""A writer that can't read what it wrote gives no id until it can."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest

from barnabas.errors import BarnabasError, RequestTimedOut
from barnabas.registry import writer as writer_module
from barnabas.registry.model.contents import SchemaContent
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.records import LogRecord
from barnabas.registry.model.registration import WantedSchema, register
from barnabas.registry.settings import RegistrySettings
from barnabas.registry.writer import RegistryWriter, WriterLostError
from tests.registry.simple_checks import SimpleChecks

URL = "http://a"
ORDER, BILL = '{"order": null}', '{"bill": null}'


class Sent:
    """Where the last record of a transaction was written."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def __await__(self) -> Any:
        yield from ()
        return self


class Log:
    """The topic, and one reader of it, who can be stuck."""

    def __init__(self) -> None:
        self.image = RegistryImage()
        self.committed: list[LogRecord] = []
        self.applied = 0
        self.is_stuck = False
        self.waits: asyncio.Event | None = None
        """If it is there: it is set by whoever waits for a record, and never gets it."""

    async def catch_up(self, timeout_s: float) -> None:
        if self.is_stuck:
            raise RequestTimedOut(f"the topic was not read to its end in {timeout_s} s")
        self.read()

    async def reach(self, offset: int, timeout_s: float) -> None:
        assert offset < len(self.committed)
        if self.waits is not None:
            self.waits.set()
            await asyncio.Event().wait()
        await self.catch_up(timeout_s)

    def read(self) -> None:
        for each in self.committed[self.applied :]:
            self.image.replay(*each)
        self.applied = len(self.committed)


class Brokers:
    """Makes producers; the last one may write."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.open: list[object] = []

    def __call__(self, *_given: object, **_options: object) -> "Transactions":
        return Transactions(self)


class Transactions:
    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._records: list[LogRecord] = []

    async def __aenter__(self) -> Self:
        self._brokers.open.append(self)
        return self

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        self._records.clear()
        yield
        self._brokers.log.committed += self._records

    async def send(self, _topic: str, value: bytes | None, key: bytes, *, partition: int) -> Sent:
        assert partition == 0
        self._records.append(LogRecord(key, value))
        return Sent(len(self._brokers.log.committed) + len(self._records) - 1)

    async def close(self, _timeout_s: float) -> None:
        self._brokers.open.remove(self)


class Instance:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = Log()
        self.brokers = Brokers(self.log)
        monkeypatch.setattr(writer_module, "Producer", self.brokers)
        log: Any = self.log
        self.writer = RegistryWriter(RegistrySettings("broker:9092"), log, URL)

    async def register(self, subject: str, text: str) -> int:
        wanted = WantedSchema(subject, SchemaContent("AVRO", text))
        checks = SimpleChecks()
        return (await self.writer.write(lambda image: register(image, checks, wanted))).id


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Instance:
    return Instance(monkeypatch)


def test_no_id_is_given_after_a_takeover_that_did_not_read_the_log(instance: Instance) -> None:
    async def scenario() -> None:
        await instance.writer.take_over(None)
        instance.log.is_stuck = True
        with pytest.raises(WriterLostError):
            await instance.register("orders", ORDER)  # it is committed, and never seen
        for _ in range(2):
            with pytest.raises(BarnabasError):
                await instance.writer.take_over(URL)
            assert not instance.writer.is_writer
            with pytest.raises(WriterLostError):
                await instance.register("bills", BILL)
        assert not instance.brokers.open
        instance.log.is_stuck = False
        await instance.writer.take_over(URL)
        assert await instance.register("bills", BILL) == 2
        assert await instance.register("orders", ORDER) == 1
        assert len(instance.brokers.open) == 1

    asyncio.run(scenario())


def test_no_id_is_given_after_a_write_that_was_cancelled(instance: Instance) -> None:
    async def scenario() -> None:
        await instance.writer.take_over(None)
        instance.log.waits = asyncio.Event()
        request = asyncio.create_task(instance.register("orders", ORDER))
        async with asyncio.timeout(30):
            await instance.log.waits.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert not instance.writer.is_writer
        assert not instance.brokers.open
        instance.log.waits = None
        with pytest.raises(WriterLostError):
            await instance.register("bills", BILL)
        await instance.writer.take_over(URL)
        assert await instance.register("bills", BILL) == 2

    asyncio.run(scenario())
