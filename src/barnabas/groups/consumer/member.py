"""What a member of a consumer group brought, as the record of its metadata has it."""

from dataclasses import dataclass
from typing import Self

from barnabas.groups.memory import PER_TOPIC_BYTES
from barnabas.wire.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)


@dataclass(frozen=True, slots=True)
class ClassicMetadata:
    """What only a member of the classic protocol has, in a group that is being migrated."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Its metadata by protocol, in its order of preference."""


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    classic: ClassicMetadata | None = None
    """Set if the member uses the classic protocol."""

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def size_bytes(self) -> int:
        """Approximate memory for it."""
        names = sum(map(len, self.subscribed_topic_names))
        size = names + PER_TOPIC_BYTES * len(self.subscribed_topic_names)
        size += len(self.client_id) + len(self.client_host)
        size += len(self.subscribed_topic_regex or "")
        if self.classic is not None:
            size += sum(len(metadata) for _, metadata in self.classic.protocols)
        return size

    def to_record(self) -> ConsumerGroupMemberMetadataValue:
        classic = self.classic
        return ConsumerGroupMemberMetadataValue(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=sorted(self.subscribed_topic_names),
            subscribed_topic_regex=self.subscribed_topic_regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.server_assignor,
            classic_member_metadata=(
                None
                if classic is None
                else ClassicMemberMetadata(
                    classic.session_timeout_ms,
                    [ClassicProtocol(name, metadata) for name, metadata in classic.protocols],
                )
            ),
        )

    @classmethod
    def from_record(cls, record: ConsumerGroupMemberMetadataValue) -> Self:
        classic = record.classic_member_metadata
        return cls(
            client_id=record.client_id,
            client_host=record.client_host,
            instance_id=record.instance_id,
            rack_id=record.rack_id,
            rebalance_timeout_ms=record.rebalance_timeout_ms,
            subscribed_topic_names=frozenset(record.subscribed_topic_names),
            subscribed_topic_regex=record.subscribed_topic_regex,
            server_assignor=record.server_assignor,
            classic=(
                None
                if classic is None
                else ClassicMetadata(
                    classic.session_timeout_ms,
                    tuple((each.name, each.metadata) for each in classic.supported_protocols),
                )
            ),
        )
