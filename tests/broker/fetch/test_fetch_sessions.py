"""Incremental fetch sessions against a real broker."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.fetch import FetchResponse, FetchTopic
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    asked,
    create_topic,
    delete_topic,
    fetch_request,
    partitions_of,
    produced,
    values_of,
)
from tests.support.broker import BrokerProcess

SETTINGS = {"max.incremental.fetch.session.cache.slots": "3"}


class Session:
    """A consumer's side of a session."""

    def __init__(self, client: RawClient, *topics: FetchTopic, **how: int) -> None:
        self._client = client
        self.epoch = 0
        self.id = 0
        self.first = self.fetch(*topics, **how)
        assert self.id != 0

    def fetch(self, *topics: FetchTopic, **how: object) -> dict[tuple[str, int], list[object]]:
        """What the next fetch tells of: the values of each partition in the answer."""
        told = partitions_of(self.ask(*topics, **how))
        assert not any(data.error_code for data in told.values())
        return {key: list(values_of(data)) for key, data in told.items()}

    def ask(self, *topics: FetchTopic, **how: object) -> FetchResponse:
        request = fetch_request(*topics, session=(self.id, self.epoch), **how)  # type: ignore[arg-type]
        response: FetchResponse = self._client.ask(request, BY_NAME)
        self.epoch += 1
        if response.error_code == 0:
            self.id = response.session_id
        return response

    def errors(self, **how: object) -> dict[tuple[str, int], int]:
        return {key: data.error_code for key, data in partitions_of(self.ask(**how)).items()}


def test_only_what_is_new_is_told(client: RawClient, topic: str) -> None:
    create_topic(client, topic, 3)
    produced(client, topic, batch(b"a"))
    session = Session(client, asked(topic, {0: 0, 1: 0, 2: 0}))
    assert session.first == {(topic, 0): [b"a"], (topic, 1): [], (topic, 2): []}
    assert session.fetch(asked(topic, {0: 1})) == {}
    assert session.fetch() == {}
    produced(client, topic, batch(b"b"), partition=2)
    assert session.fetch() == {(topic, 2): [b"b"]}
    assert session.fetch(asked(topic, {2: 1})) == {}


def test_the_same_offset_asked_again_gives_the_data_again(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    session = Session(client, asked(topic, {0: 0}))
    assert session.fetch() == session.fetch() == {(topic, 0): [b"a"]}
    assert session.fetch(asked(topic, {0: 0})) == {(topic, 0): [b"a"]}


def test_going_back_gives_old_data(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"a"))
    session = Session(client, asked(topic, {0: 1}))
    assert session.first == {(topic, 0): []}
    assert session.fetch(asked(topic, {0: 0})) == {(topic, 0): [b"a"]}


def test_partitions_come_and_go(client: RawClient, topic: str) -> None:
    create_topic(client, topic, 2)
    session = Session(client, asked(topic, {0: 0}))
    for partition in (0, 1):
        produced(client, topic, batch(b"a"), partition=partition)
    assert session.fetch() == {(topic, 0): [b"a"]}
    told = session.fetch(asked(topic, {1: 0}), forgotten=[(topic, [0])])
    assert told == {(topic, 1): [b"a"]}
    assert session.fetch(forgotten=[(topic, [1]), ("never there", [7])]) == {}


def test_a_partition_at_its_end_is_told_once(client: RawClient, topic: str) -> None:
    """A consumer learns the high watermark of a partition that it takes in."""
    create_topic(client, topic, 2)
    produced(client, topic, batch(b"a"), partition=1)
    session = Session(client, asked(topic, {0: 0}))
    assert session.fetch(asked(topic, {1: 1}), max_wait_ms=50) == {(topic, 1): []}
    assert session.fetch(max_wait_ms=50) == {}


def test_epochs_are_checked(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    session = Session(client, asked(topic, {0: 0}))
    session.epoch = 7
    assert session.ask().error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    session.epoch = 1
    assert session.ask().error_code == 0
    session.id += 1
    assert session.ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_ends_when_asked(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    session = Session(client, asked(topic, {0: 0}))
    ended = client.ask(fetch_request(session=(session.id, -1)), BY_NAME)
    assert (ended.error_code, ended.session_id) == (0, 0)
    assert session.ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_new_session_replaces_the_one_named(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    session = Session(client, asked(topic, {0: 0}))
    old = session.id
    session.epoch = 0
    assert session.fetch(asked(topic, {0: 0})) == {(topic, 0): []}
    assert session.id != old
    request = fetch_request(session=(old, 1))
    assert client.ask(request, BY_NAME).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_least_recently_used_goes_first(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    sessions = [Session(client, asked(topic, {0: 0})) for _ in range(3)]
    assert sessions[0].fetch() == {}
    newest = Session(client, asked(topic, {0: 0}))
    assert sessions[1].ask().error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    for session in (sessions[0], sessions[2], newest):
        assert session.fetch() == {}


def test_a_session_survives_its_connection(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic)
    with RawClient(node.host, node.port) as other:
        session = Session(other, asked(topic, {0: 0}))
        other.send(fetch_request(session=(session.id, 1), max_wait_ms=60_000), BY_NAME)
        assert other.is_silent(0.1)
    produced(client, topic, batch(b"a"))
    session._client = client
    session.epoch = 2
    assert session.fetch() == {(topic, 0): [b"a"]}


# -- topics that change meanwhile ------------------------------------------------------------------


def test_a_deleted_topic_is_told_at_once(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic)
    with RawClient(node.host, node.port) as reader:
        session = Session(reader, asked(topic, {0: 0}))
        reader.send(fetch_request(session=(session.id, 1), max_wait_ms=600_000), BY_NAME)
        assert reader.is_silent(0.1)
        delete_topic(client, topic)
        (data,) = partitions_of(reader.receive()).values()
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_recreated_topic_is_read_on(client: RawClient, topic: str) -> None:
    """By name the session finds the new topic, though the client does not name it again."""
    create_topic(client, topic)
    produced(client, topic, batch(b"old"))
    session = Session(client, asked(topic, {0: 0}))
    delete_topic(client, topic)
    assert session.errors() == {(topic, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert session.errors() == {(topic, 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    create_topic(client, topic)
    produced(client, topic, batch(b"new"))
    assert session.fetch() == {(topic, 0): [b"new"]}
    produced(client, topic, batch(b"newer"))
    assert session.fetch(asked(topic, {0: 1}), max_wait_ms=1000) == {(topic, 0): [b"newer"]}


def test_a_topic_recreated_unseen(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    session = Session(client, asked(topic, {0: 0}))
    delete_topic(client, topic)
    create_topic(client, topic)
    produced(client, topic, batch(b"new"))
    assert session.fetch() == {(topic, 0): [b"new"]}


def test_a_topic_id_stays_gone(client: RawClient, topic: str) -> None:
    """By id a topic of the same name is another one."""
    topic_id = create_topic(client, topic).topic_id
    by_id = asked("", {0: 0})
    by_id.topic_id = topic_id
    opened = client.ask(fetch_request(by_id, session=(0, 0)), 13)
    delete_topic(client, topic)
    create_topic(client, topic)
    response = client.ask(fetch_request(session=(opened.session_id, 1)), 13)
    ((data,),) = (told.partitions for told in response.responses)
    assert response.responses[0].topic_id == topic_id
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("grow", [False, True])
def test_a_partition_that_appears_later(client: RawClient, topic: str, grow: bool) -> None:
    if grow:
        create_topic(client, topic)
    index = 1 if grow else 0
    response = client.ask(fetch_request(asked(topic, {index: 0}), session=(0, 0)), BY_NAME)
    (data,) = partitions_of(response).values()
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if grow:
        client.ask(CreatePartitionsRequest([CreatePartitionsTopic(topic, 2, None)]))
    else:
        create_topic(client, topic)
    produced(client, topic, batch(b"a"), partition=index)
    response = client.ask(fetch_request(session=(response.session_id, 1)), BY_NAME)
    assert values_of(partitions_of(response)[topic, index]) == [b"a"]


# -- fairness --------------------------------------------------------------------------------------


def test_nobody_starves_behind_a_busy_partition(client: RawClient, topic: str) -> None:
    create_topic(client, topic, 4)
    for partition in range(4):
        produced(client, topic, batch(*[b"x" * 400] * 2), partition=partition)
    session = Session(client, asked(topic, dict.fromkeys(range(4), 0)), max_bytes=500)
    seen = [next(key for key, values in session.first.items() if values)]
    for _ in range(3):
        (key,) = session.fetch(max_bytes=500)
        seen.append(key)
    assert sorted(seen) == [(topic, partition) for partition in range(4)]


def test_what_did_not_fit_comes_next(client: RawClient, topic: str) -> None:
    """The answer has room left, but not enough for the second partition's batch."""
    create_topic(client, topic, 2)
    for partition in (0, 1):
        produced(client, topic, batch(b"x" * 300), partition=partition)
    session = Session(client, asked(topic, {0: 0, 1: 0}), max_bytes=1000)
    assert session.first == {(topic, 0): [b"x" * 300], (topic, 1): []}
    told = session.fetch(asked(topic, {0: 1}), max_bytes=1000, max_wait_ms=500)
    assert told == {(topic, 1): [b"x" * 300]}


def test_nothing_wanted_means_no_wait(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    session = Session(client, asked(topic, {0: 0}))
    assert session.fetch(min_bytes=0, max_wait_ms=600_000) == {}
    assert session.fetch(forgotten=[(topic, [0])], min_bytes=1, max_wait_ms=600_000) == {}
