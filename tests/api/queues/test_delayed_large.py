"""Jobs for later that do not fit into their topic as they are, or not at all."""

import logging
import random

import pytest

import barnabas
from barnabas.client.delays import record_moves
from tests.api.queues.conftest import Jobs
from tests.support.wait import LIMIT_S

LARGE = b"a job that compresses well; " * 100_000
"""3 MB, in a topic for records of 1 MiB."""


def test_a_job_that_came_compressed_is_moved_compressed(queue_servers: str, jobs: Jobs) -> None:
    topic = jobs(0)
    with barnabas.Queue(queue_servers, topic, group=topic) as queue:
        queue.put(b"makes the companion", delay="1h").result(LIMIT_S)
        with barnabas.Producer(queue_servers, compression="zstd") as producer:
            due = [("delayed.due", b"1")]
            producer.send(topic=f"{topic}.delayed", value=LARGE, headers=due, partition=0)
        job = queue.get(LIMIT_S)
        assert job is not None
        assert job.value == LARGE


@pytest.mark.parametrize(
    ("configs", "key", "said"),
    [
        ({"max.message.bytes": 10_000}, b"ada", "MESSAGE_TOO_LARGE"),
        ({"cleanup.policy": "compact"}, None, "INVALID_RECORD"),
    ],
)
def test_a_job_that_can_not_be_moved_holds_up_no_other_and_is_not_lost(
    queue_servers: str,
    jobs: Jobs,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    configs: dict[str, str | int],
    key: bytes | None,
    said: str,
) -> None:
    monkeypatch.setattr(record_moves, "RETRY_S", 1)
    topic, refused = jobs(0), random.Random(1).randbytes(20_000)
    with (
        barnabas.Admin(queue_servers) as admin,
        barnabas.Queue(queue_servers, topic, group=topic) as queue,
        caplog.at_level(logging.ERROR, "barnabas.delays"),
    ):
        queue.put(b"makes the companion", delay="1h").result(LIMIT_S)
        before = {name: admin.configs(topic=topic)[name].value for name in configs}
        admin.set_configs(configs, topic=topic)
        queue.put(refused, key, delay=0.2).result(LIMIT_S)
        queue.put(b"small", b"bob", delay=0.2).result(LIMIT_S)
        job = queue.get(LIMIT_S)
        assert job is not None
        assert job.value == b"small"
        job.accept()
        said_first = next(each.getMessage() for each in caplog.records)
        assert said in said_first
        assert f"It stays in {topic}.delayed" in said_first
        admin.set_configs(before, topic=topic)
        job = queue.get(LIMIT_S)
        assert job is not None, "it was tried again"
        assert (job.key, job.value, job.headers) == (key, refused, ())
