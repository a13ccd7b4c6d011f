"""The headers of a job whose result is wanted: its id, and the topic of its result.

    job.id         019a9c1fd2b47f3c9a1e5b2d4c68e0f1
    job.results    pictures.results

An id has 12 hexadecimal digits of the time, and 20 random ones. It is the key of the result, so any
producer in any language puts the result into the same partition, and anyone with the id knows which
one, and since when to look. A client makes ids of one partition, so it has one partition to read.
"""

import re
from collections.abc import Iterable
from secrets import token_hex
from typing import NamedTuple

from barnabas.client.producer.dead_letters import HEADER_PREFIX
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.record import Header

JOB_ID_HEADER = "job.id"
RESULTS_HEADER = "job.results"
SUFFIX = ".results"

_HEADERS = (JOB_ID_HEADER, RESULTS_HEADER)
_ID = re.compile(rb"[0-9a-f]{32}\Z")
_TOPIC = re.compile(r"(?=.{1,249}\Z)[A-Za-z0-9._-]+" + re.escape(SUFFIX) + r"\Z")


def new_job_id(now_ms: int, partition: int, partition_count: int) -> str:
    """An id whose result goes to this partition."""
    while True:
        found = f"{now_ms:012x}{token_hex(10)}"
        if partition_for_key(found.encode(), partition_count) == partition:
            return found


def is_job_id(text: bytes) -> bool:
    """Whether it can be one."""
    return _ID.match(text) is not None


def submitted_ms_of(job_id: str) -> int:
    """When the job was submitted, by the clock of who did."""
    return int(job_id[:12], 16)


class ReplyTo(NamedTuple):
    """Where the result of a job goes."""

    topic: str
    job_id: bytes

    @property
    def headers(self) -> list[Header]:
        """Of a job, so that its result goes there."""
        return [(JOB_ID_HEADER, self.job_id), (RESULTS_HEADER, self.topic.encode())]


def reply_to(headers: Iterable[Header]) -> ReplyTo | None:
    """None if no result is wanted. Results go to topics of results and nowhere else.

    A dead letter is no job: its submitter was told of the failure.
    """
    found: dict[str, bytes] = {}
    for name, value in headers:
        if name.startswith(HEADER_PREFIX):
            return None
        if name in _HEADERS:
            found[name] = value or b""
    job_id = found.get(JOB_ID_HEADER, b"")
    topic = found.get(RESULTS_HEADER, b"").decode("utf-8", "replace")
    return ReplyTo(topic, job_id) if is_job_id(job_id) and _TOPIC.match(topic) else None
