"""A queue that reads across records which were lost to disk damage."""

from collections.abc import Callable
from pathlib import Path

import pytest

import barnabas
from barnabas import Queue
from barnabas.errors import BrokerError
from barnabas.wire.errors import ErrorCode
from tests.support.broker import BrokerProcess

COUNT = 150
WAIT_S = 120


def segments(broker: BrokerProcess) -> list[Path]:
    return sorted((broker.data / "jobs-0").glob("*.log"))


def fill(servers: str) -> None:
    with barnabas.Admin(servers) as admin:
        admin.create_topic("jobs", configs={"segment.bytes": 16_384})
    with barnabas.Producer(servers, linger_ms=0) as producer:
        for number in range(COUNT):
            producer.send("jobs", b"%06d" % number * 100).result(WAIT_S)


def damage(broker: BrokerProcess) -> None:
    """Cut off half of a segment in the middle of the log."""
    found = segments(broker)
    assert len(found) >= 5
    path = found[len(found) // 2]
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def take_to_the_end(queue: Queue, taken: list[int]) -> None:
    """Take jobs up to the last one of the topic."""
    while COUNT - 1 not in taken:
        job = queue.get(WAIT_S)
        assert job is not None, f"nothing comes after {taken[-1:]}, and no error"
        taken.append(job.offset)
        job.accept()


def test_lost_jobs_are_an_error_and_can_be_skipped(
    make_broker: Callable[..., BrokerProcess],
) -> None:
    broker = make_broker(share_coordinator_state_topic_num_partitions="1")
    servers = broker.bootstrap
    fill(servers)
    broker.kill()
    damage(broker)
    broker.start()

    taken: list[int] = []
    with (
        Queue(servers, "jobs", group="workers", prefetch=5) as queue,
        pytest.raises(BrokerError, match=r"damaged\.records\.skip=true") as raised,
    ):
        take_to_the_end(queue, taken)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
    assert taken == list(range(len(taken)))
    assert 0 < len(taken) < COUNT - 1
    assert f"has lost offsets {len(taken)} to" in broker.log.read_text()

    with barnabas.Admin(servers) as admin:
        admin.set_configs({"damaged.records.skip": "true"}, topic="jobs")
    rest: list[int] = []
    with Queue(servers, "jobs", group="workers", prefetch=5) as queue:
        take_to_the_end(queue, rest)
    assert rest == list(range(rest[0], COUNT))
    assert rest[0] > len(taken)
