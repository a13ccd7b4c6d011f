"""Locked records without a broker."""

from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.queue_message import Acknowledgement, QueueMessage
from barnabas.client.share.share_session import SharePartition
from barnabas.errors import InvalidArgument
from barnabas.records.message import Message

PARTITION = SharePartition(b"t" * 16, "jobs", 0)
OTHER = SharePartition(b"t" * 16, "jobs", 1)


class Settled:
    """Takes note of what was settled, as the core does."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, AcknowledgeType, float, str | None]] = []

    def settle(
        self,
        message: QueueMessage,
        kind: AcknowledgeType,
        *,
        delay_s: float = 0,
        reason: str | None = None,
        result: object = None,
    ) -> Acknowledgement:
        if kind is not AcknowledgeType.RENEW and not message.close_once():
            raise InvalidArgument("settled already")
        self.calls.append((message.offset, kind, delay_s, reason))
        return Acknowledgement()


def locked(
    offset: int,
    *,
    partition: SharePartition = PARTITION,
    core: Settled | None = None,
    delivery_count: int = 1,
    node_id: int = 1,
    deadline: float = 30.0,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> QueueMessage:
    """A record at this offset, locked until the deadline."""
    record = Message(partition.topic, partition.partition, offset, 10_123, b"k", b"v", headers)
    return QueueMessage(
        core or Settled(),
        partition,
        record,
        delivery_count,
        node_id=node_id,
        deadline=deadline,
        renew_until=300.0,
    )
