"""A result as a record: its key is the id of the job."""

from typing import NamedTuple

from barnabas.client.producer.dead_letters import encoded
from barnabas.records.message import Message
from barnabas.records.record import Header

ERROR_HEADER = "job.error"

_ERROR_CHARACTERS = 2_000


class JobResult(NamedTuple):
    """What came of a job: a value, or why it was given up."""

    value: bytes | None = None
    error: str | None = None

    @property
    def headers(self) -> list[Header]:
        if self.error is None:
            return []
        return [(ERROR_HEADER, encoded(self.error[:_ERROR_CHARACTERS]))]


def result_of(message: Message) -> JobResult:
    """What a record of the topic says."""
    for name, value in message.headers:
        if name == ERROR_HEADER:
            return JobResult(error=(value or b"").decode("utf-8", "replace"))
    return JobResult(message.value)
