"""Dead letters as they are read from their topic."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.aio.admin import Admin
from barnabas.aio.consumer import Consumer
from barnabas.aio.producer import Producer
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.producer.dead_letters import HEADER_PREFIX
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message

_POLL_S = 0.5


class Letter(NamedTuple):
    """A dead letter, and what its headers say."""

    message: Message
    said: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.message.partition}:{self.message.offset}"

    @property
    def origin(self) -> str:
        """Where the record was: topic, partition and offset."""
        said = self.said
        return f"{said.get('topic', '?')}:{said.get('partition', '?')}@{said.get('offset', '?')}"

    @property
    def is_letter(self) -> bool:
        return "topic" in self.said


def letter_of(message: Message) -> Letter:
    """What the headers say; any record may be in the topic."""
    return Letter(
        message,
        {
            name.removeprefix(HEADER_PREFIX): (value or b"").decode("utf-8", "replace")
            for name, value in message.headers
            if name.startswith(HEADER_PREFIX)
        },
    )


def matches(reason: str | None, said: Mapping[str, str]) -> bool:
    """Whether the reason of a dead letter contains this text."""
    return reason is None or reason.lower() in said.get("reason", "").lower()


@dataclass(frozen=True, slots=True)
class LetterCluster:
    """The cluster that dead letters are in, and how clients connect to it."""

    bootstrap: str
    security: Mapping[str, SecurityValue] = field(repr=False)
    client_id: str

    def client(self) -> ClusterClient:
        return ClusterClient(
            self.bootstrap, client_id=self.client_id, security=security_settings(self.security)
        )

    def admin(self) -> Admin:
        return Admin(self.bootstrap, client_id=self.client_id, security=self.security)

    def consumer(self, topics: str | tuple[()] = (), group: str | None = None) -> Consumer:
        return Consumer(
            self.bootstrap,
            topics,
            group=group,
            commit="auto" if group is None else "manual",
            client_id=self.client_id,
            security=self.security,
            on_data_loss="earliest",
        )

    def producer(self, transactional_id: str) -> Producer:
        return Producer(
            self.bootstrap,
            transactional_id=transactional_id,
            client_id=self.client_id,
            security=self.security,
        )


async def read_letters(
    cluster: LetterCluster,
    topic: str,
    only: TopicPartition | None = None,
    offset: int | None = None,
    *,
    newest: int | None = None,
) -> AsyncGenerator[Letter]:
    """All that are there now, from one place on, or so many of the newest of each partition."""
    async with cluster.admin() as admin:
        await admin.describe_topic(topic)
        starts = await admin.offsets(topic, "earliest")
        ends = await admin.offsets(topic, isolation="read_committed")
    if only is not None:
        if only not in starts:
            raise InvalidArgument(f"{topic} has no partition {only.partition}")
        starts = {only: offset or 0}
    if newest is not None:
        starts = {each: max(start, ends[each] - newest) for each, start in starts.items()}
    starts = {each: start for each, start in starts.items() if start < ends[each]}
    if not starts:
        return
    async with cluster.consumer() as consumer:
        await consumer.assign(starts)
        while any(consumer.position(each) < ends[each] for each in starts):
            for message in await consumer.poll(_POLL_S):
                if message.offset < ends[TopicPartition(message.topic, message.partition)]:
                    yield letter_of(message)
