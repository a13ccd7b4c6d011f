"""A group with its members, whatever its type: what the describers of all types return."""

from enum import StrEnum
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition


class GroupType(StrEnum):
    """By the names that brokers use. A broker before Kafka 3.8 tells none."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"
    UNKNOWN = ""

    @classmethod
    def of(cls, name: str) -> "GroupType":
        """The type of this name; one that is newer than this client is unknown."""
        try:
            return cls(name.lower())
        except ValueError:
            return cls.UNKNOWN


class MemberDescription(NamedTuple):
    """A member and what it reads.

    Members of the consumer protocol have an epoch, a target that they move to, and say what they
    subscribe to. `protocol` is how this member speaks: a group that is upgraded has both kinds.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    partitions: list[TopicPartition]
    epoch: int | None = None
    target: list[TopicPartition] | None = None
    topics: list[str] | None = None
    topic_regex: str | None = None
    rack: str | None = None
    protocol: GroupType = GroupType.CLASSIC


class GroupMembers(NamedTuple):
    """A group with its members. Epochs are known of groups whose coordinator assigns.

    `epoch` grows with each change of the group, `assignment_epoch` is the one that the target
    assignment was made for.
    """

    group_id: str
    state: str
    protocol_type: str
    assignor: str
    members: list[MemberDescription]
    group_type: GroupType = GroupType.CLASSIC
    epoch: int | None = None
    assignment_epoch: int | None = None
