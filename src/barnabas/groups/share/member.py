"""What a member of a share group brought, as the record of its metadata has it."""

from dataclasses import dataclass
from typing import Self

from barnabas.groups.memory import PER_TOPIC_BYTES
from barnabas.wire.messages.share_group_records import ShareGroupMemberMetadataValue


@dataclass(frozen=True, slots=True)
class ShareMember:
    client_id: str = ""
    client_host: str = ""
    rack_id: str | None = None
    subscribed_topic_names: frozenset[str] = frozenset()

    @property
    def instance_id(self) -> str | None:
        """Members of share groups are never static."""
        return None

    @property
    def size_bytes(self) -> int:
        """Approximate memory for it."""
        names = sum(map(len, self.subscribed_topic_names))
        size = names + PER_TOPIC_BYTES * len(self.subscribed_topic_names)
        return size + len(self.client_id) + len(self.client_host)

    def to_record(self) -> ShareGroupMemberMetadataValue:
        return ShareGroupMemberMetadataValue(
            self.rack_id, self.client_id, self.client_host, sorted(self.subscribed_topic_names)
        )

    @classmethod
    def from_record(cls, value: ShareGroupMemberMetadataValue) -> Self:
        return cls(
            value.client_id,
            value.client_host,
            value.rack_id,
            frozenset(value.subscribed_topic_names),
        )
