"""Queues and consumers that name a group of another type."""

import pytest

import barnabas
from barnabas import Consumer, Queue
from barnabas.errors import BrokerError, UnknownGroup
from tests.api.queues.conftest import Jobs
from tests.support.wait import LIMIT_S


def test_a_queue_says_that_its_group_is_a_consumer_group(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(1)
    with Consumer(queue_servers, topic, group=topic, commit="manual") as consumer:
        assert consumer.poll(LIMIT_S)
        consumer.commit()
    with (
        Queue(queue_servers, topic, group=topic) as queue,
        pytest.raises(BrokerError, match=r"of another type .* needs a share group") as found,
    ):
        queue.get(LIMIT_S)
    assert not isinstance(found.value, UnknownGroup), "there is one"


def test_a_consumer_says_that_its_group_may_be_a_share_group(
    queue_servers: str, jobs: Jobs
) -> None:
    topic = jobs(1)
    with Queue(queue_servers, topic, group=topic) as queue:
        job = queue.get(LIMIT_S)
        assert job is not None
        job.accept().result(LIMIT_S)
        with (
            barnabas.Consumer(queue_servers, topic, group=topic) as consumer,
            pytest.raises(BrokerError, match="it is of another type, such as a share group"),
        ):
            consumer.poll(LIMIT_S)
