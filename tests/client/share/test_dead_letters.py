"""The topic of dead letters: created as it should be, however long that takes."""

import asyncio
from typing import Any, cast

import pytest

from barnabas.client.share import dead_letters
from barnabas.client.share.dead_letters import DeadLetters
from barnabas.errors import BarnabasError, BrokerError, BrokerUnreachable, NotAuthorized
from barnabas.wire.errors import ErrorCode
from tests.client.share.support import locked


class Cluster:
    """Creates the topic, unless there is an error to raise first. Nothing else creates it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *errors: BarnabasError) -> None:
        self.errors = list(errors)
        self.exists = False
        self.letters: list[str] = []
        monkeypatch.setattr(dead_letters, "ensure_companion", self.ensure)

    async def ensure(self, *_: Any, **__: Any) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.exists = True

    async def send(self, topic: str, *_: Any) -> "asyncio.Future[None]":
        if not self.exists:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}")
        self.letters.append(topic)
        sent = asyncio.get_running_loop().create_future()
        sent.set_result(None)
        return sent

    async def store(self, letters: DeadLetters) -> str:
        """The error of an attempt."""
        try:
            await letters.store(locked(0), "workers", "no good")
        except BarnabasError as error:
            return str(error)
        return ""


def test_it_is_not_left_to_the_broker_because_a_controller_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Letters would expire in a topic that a broker creates for the first one."""

    async def main() -> None:
        cluster = Cluster(monkeypatch, BrokerUnreachable("the controller is away"))
        letters = DeadLetters("lost", cast("Any", cluster), cast("Any", None))
        assert "the controller is away" in await cluster.store(letters)
        assert not cluster.letters
        assert not await cluster.store(letters)
        assert cluster.letters == ["lost"]

    asyncio.run(main())


def test_it_is_created_when_the_right_is_granted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A kept job tries again: it needs no restart. The reason is logged once."""

    async def main() -> None:
        denied = NotAuthorized(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "create is not allowed")
        cluster = Cluster(monkeypatch, denied, denied)
        letters = DeadLetters("lost", cast("Any", cluster), cast("Any", None))
        for _ in range(2):
            assert "topic lost" in await cluster.store(letters)
        assert not await cluster.store(letters)
        assert cluster.letters == ["lost"]

    asyncio.run(main())
    assert len([each for each in caplog.messages if "was not created" in each]) == 1
