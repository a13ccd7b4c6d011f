"""How a consumer ends. Both faces."""

from uuid import uuid4

import pytest

import barnabas
from barnabas import TopicPartition
from barnabas.errors import BrokerError, RequestTimedOut
from barnabas.wire.errors import ErrorCode
from tests.api.conftest import Fill, fill
from tests.api.faces import Face


def test_leaving_without_a_broker_is_bounded_and_says_what_it_was(face: Face) -> None:
    with barnabas.Cluster() as cluster:
        cluster.create_topic("t")
        fill(cluster.bootstrap_servers, "t", range(3))
        consumer = face.consumer(
            cluster.bootstrap_servers, "t", group="g", commit="done", close_timeout_s=0.5
        )
        for message in consumer.poll(60):
            consumer.done(message)
    with pytest.raises(RequestTimedOut, match=r"leaving group g .*in 0\.5 s.*delivered again"):
        consumer.close()


def test_a_refusal_of_the_last_commit_says_what_it_was(
    face: Face, servers: str, topic_with: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise BrokerError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "not you")

    consumer = face.consumer(servers, topic_with(1), group=uuid4().hex, commit="done")
    for message in consumer.poll(60):
        consumer.done(message)
    monkeypatch.setattr("barnabas.client.consumer.committer.commit_offsets", refuse)
    with pytest.raises(BrokerError, match="not you") as raised:
        consumer.close()
    assert "the last commit before leaving" in raised.value.__notes__[0]


def test_closing_does_not_call_the_last_list_done_and_leaving_does(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic, group = topic_with(3), uuid4().hex
    consumer = face.consumer(servers, topic, group=group)
    assert len(consumer.poll(60)) == 3
    consumer.close()
    with barnabas.Admin(servers) as admin:
        assert admin.group_offsets(group) == {}
        with face.consumer(servers, topic, group=group) as consumer:
            assert len(consumer.poll(60)) == 3
        assert admin.group_offsets(group) == {TopicPartition(topic, 0): 3}
