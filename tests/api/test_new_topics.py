"""Consumers of topics that are not there yet. Both faces."""

import logging
import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any
from uuid import uuid4

import pytest

import barnabas
from barnabas.client.consumer import new_topics
from barnabas.errors import UnknownTopic
from barnabas.wire.errors import ErrorCode
from tests.api.conftest import Fill
from tests.api.faces import Face
from tests.support.wait import wait_until


@pytest.fixture(scope="module")
def generous() -> Iterator[str]:
    """A node that makes topics for those who may ask for it."""
    with barnabas.Cluster() as cluster:
        yield cluster.bootstrap_servers


def send(servers: str, topic: str) -> None:
    with barnabas.Producer(servers) as producer:
        for n in range(3):
            producer.send(topic, b"%d" % n)


@pytest.mark.parametrize("start", ["earliest", "latest"])
@pytest.mark.parametrize("in_group", [True, False])
def test_who_comes_first_waits_and_gets_everything(
    face: Face, generous: str, start: str, in_group: bool
) -> None:
    topic = f"t-{uuid4().hex}"
    group = uuid4().hex if in_group else None
    with face.consumer(generous, topic, group=group, start=start) as consumer:
        began = time.monotonic()
        assert consumer.poll(0.2) == []
        assert time.monotonic() - began > 0.15
        with barnabas.Admin(generous) as admin:
            assert topic not in admin.topics()
        later = threading.Timer(0.2, send, (generous, topic))
        later.start()
        assert [message.value for message in islice(consumer, 3)] == [b"0", b"1", b"2"]
        later.join()


def test_the_log_names_what_is_waited_for(
    face: Face, servers: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.connect.retry_log.SILENCE_S", 0.2)
    with (
        caplog.at_level(logging.WARNING, "barnabas.client"),
        face.consumer(servers, "odrers") as consumer,
    ):

        def is_said() -> bool:
            assert consumer.poll(0.1) == []
            return "topic odrers: it does not exist" in caplog.text

        wait_until(is_said, lambda: caplog.text)


def test_questions_about_what_is_not_there_are_answered(
    face: Face, servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.consumer.consumer_core._TOPICS_S", 0.2)
    with (
        face.consumer(servers, "odrers") as consumer,
        pytest.raises(UnknownTopic, match="odrers"),
    ):
        consumer.lag()


@pytest.mark.parametrize("in_group", [True, False])
def test_a_leader_that_has_not_heard_of_a_topic_yet_is_asked_again(
    face: Face, servers: str, topic_with: Fill, monkeypatch: pytest.MonkeyPatch, in_group: bool
) -> None:
    asked = 0
    original = new_topics.offsets_at

    async def offsets_at(*arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked <= 2:
            raise UnknownTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "not heard of")
        return await original(*arguments)

    monkeypatch.setattr(new_topics, "offsets_at", offsets_at)
    group = uuid4().hex if in_group else None
    with face.consumer(servers, topic_with(2), group=group) as consumer:
        assert len(list(islice(consumer, 2))) == 2
    assert asked > 2
