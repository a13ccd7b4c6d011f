"""A change of the state that the changelog refuses is a failure of its record, and of no other."""

import asyncio
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas import App, State
from barnabas.app.memory_topics import MemoryReceipt, MemorySink, MemoryTopics
from barnabas.app.state.refused_changes import RefusedChanges
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.producer.sent_record import Delivery
from barnabas.errors import BarnabasError, NotAuthorized, StateLost
from barnabas.records.message import Message
from barnabas.records.record import Header
from barnabas.wire.errors import ErrorCode
from tests.app.state.counting import handle
from tests.support.wait import wait_until

LIMIT = 1_000
CHANGELOG = "g.keep.kept.changelog"


class RefusedReceipt:
    """Of a record that no broker has taken."""

    def __init__(self, code: ErrorCode) -> None:
        self._error = broker_error(code, CHANGELOG)

    def exception(self) -> BarnabasError:
        return self._error

    def __await__(self) -> Generator[Any, None, Delivery]:
        yield from ()
        raise self._error


@pytest.fixture(params=[ErrorCode.MESSAGE_TOO_LARGE])
def refusing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The changelog refuses values above its limit, after they were sent."""
    send = MemorySink.send

    async def send_or_not(
        sink: MemorySink,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        headers: Sequence[Header] = (),
        partition: int | None = None,
    ) -> Any:
        if topic == CHANGELOG and len(value or b"") > LIMIT:
            return RefusedReceipt(request.param)
        return await send(sink, topic, value, key, headers=headers, partition=partition)

    monkeypatch.setattr(MemorySink, "send", send_or_not)


def keeping(app: App, seen: list[str], topic: str = "words", **options: Any) -> None:
    """Keeps the last word of each key; "large" ones are too large for the changelog."""

    @app.handler(topic, group="g", name="keep", backoff=0, **options)
    async def keep(word: str, kept: State[str]) -> None:
        seen.append(word)
        kept.set(word.ljust(5 * LIMIT) if word.startswith("large") else word)


def put(topics: MemoryTopics, word: str, key: str) -> MemoryReceipt:
    return topics.append("words", word.encode(), key.encode(), ())


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_only_the_record_whose_change_is_refused_is_given_up(concurrency: int) -> None:
    app, seen = App(), list[str]()
    keeping(app, seen, concurrency=concurrency, retries=2, dead_letters="dead")
    with app.test() as run:
        for number, key in enumerate("abcab"):
            put(run._topics, f"{number}", key)
        put(run._topics, "large 1", "c")
        put(run._topics, "5", "b")
        run.send("words", "6", key="a")
        assert [each.message.value for each in run.dead_letters("dead")] == [b"large 1"]
        assert [run.state("keep", key) for key in "abc"] == ["6", "5", "2"]
        assert seen.count("large 1") == 1 + 3  # the attempts after the round that was refused
        run.send("words", "large 2", key="c")
        run.send("words", "7", key="c")
        assert [each.message.value for each in run.dead_letters("dead")] == [b"large 1", b"large 2"]
        assert run.state("keep", "c") == "7"
        assert seen.count("7") == 1  # what was refused in rounds before is forgotten


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize(
    ("refusing", "error"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, NotAuthorized),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, StateLost),
    ],
    indirect=["refusing"],
)
@pytest.mark.parametrize("size", [5 * LIMIT, 300_000])
def test_what_is_the_same_for_all_records_stops_the_handler(
    error: type[Exception], size: int
) -> None:
    app = App()

    @app.handler("words", group="g", retries=2, backoff=0, dead_letters="dead")
    def keep(word: str, kept: State[str]) -> None:
        kept.set("x" * size)

    with pytest.raises(error), app.test() as run:
        run.send("words", "one", key="a")
    assert run.dead_letters("dead") == []


def test_records_are_suspects_until_they_are_done() -> None:
    def messages(partition: int, *offsets: int) -> list[Message]:
        return [Message("t", partition, each, 0, b"k", b"v", ()) for each in offsets]

    refused = RefusedChanges()
    refused.suspect([*messages(0, 5, 6, 9), *messages(1, 3)])
    assert all(map(refused.is_suspect, [*messages(0, 5, 8, 9), *messages(1, 3)]))
    assert not any(map(refused.is_suspect, [*messages(0, 10), *messages(1, 4), *messages(2, 0)]))
    refused.forget(messages(0, 5, 6))
    assert refused.is_suspect(*messages(0, 9))
    refused.forget(messages(0, 9, 10))
    assert not refused.is_suspect(*messages(0, 9))
    refused.drop([1])
    assert not refused.is_suspect(*messages(1, 3))


@pytest.mark.parametrize("exactly_once", [False, True])
def test_the_changelog_has_the_limit_of_its_source(
    app_broker: barnabas.Cluster, tmp_path: Path, exactly_once: bool
) -> None:
    """Which may be below what is sent without waiting."""
    servers, topic = app_broker.bootstrap_servers, f"words-{uuid4().hex[:8]}"
    app_broker.create_topic(topic, configs={"max.message.bytes": LIMIT})
    with barnabas.Producer(servers, value=str, key=str) as producer:
        for number in range(8):
            producer.send(topic, "large" if number == 3 else str(number), key=f"k{number % 4}")
    app, seen = App(servers, state_directory=tmp_path), list[str]()

    @app.handler(
        topic,
        group=f"g-{topic}",
        name="count",
        exactly_once=exactly_once,
        retries=1,
        backoff=0,
        dead_letters=f"{topic}-dead",
    )
    async def count(word: str, kept: State[str]) -> None:
        seen.append(word)
        kept.set(word * (LIMIT if word == "large" else 1))

    asyncio.run(handle(app, servers, topic, 8))
    with barnabas.Consumer(servers, f"{topic}-dead") as consumer:
        letters = wait_until(lambda: consumer.poll(0.2))
    assert [each.value for each in letters] == [b"large"]
    changelog = f"g-{topic}.count.kept.changelog"
    with barnabas.Table(servers, changelog, key_format="str", value_format="str") as table:
        assert dict(table.items()) == {"k0": "4", "k1": "5", "k2": "6", "k3": "7"}
