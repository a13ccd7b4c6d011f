"""What a doctor knows of a cluster: a snapshot, in which checks only read."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.client.admin.active_producers import ActiveProducer
from barnabas.client.admin.features import ClusterFeatures
from barnabas.client.admin.log_directories import LogDirectory
from barnabas.client.admin.quotas import QuotaDescription
from barnabas.client.connect.cluster_metadata import PartitionMetadata, TopicPartition
from barnabas.diagnosis.status import ClusterStatus

ApiVersions = Mapping[int, tuple[int, int]]
"""The lowest and the highest version of each API."""


class GroupFacts(NamedTuple):
    """A group and how far it is; `lag` is None of one whose offsets could not be read."""

    group_id: str
    state: str
    lag: int | None
    deleted_unread: Mapping[TopicPartition, int]
    """How many records were deleted before the group has read them."""

    @property
    def is_empty(self) -> bool:
        return self.state in ("Empty", "Dead")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node that has answered. What is not known is None or empty."""

    node_id: int
    configs: Mapping[str, str | None] = field(default_factory=dict)
    dynamic: frozenset[str] = frozenset()
    """The settings that were changed while it ran."""
    api_versions: ApiVersions = field(default_factory=dict)
    certificate_expires_ms: int | None = None
    version: str | None = None
    """Of its software."""
    clock_ahead_ms: float | None = None
    """How far its clock is ahead of the one here."""
    clock_error_ms: float = 0
    """By how much that may be wrong: the request took time."""
    open_files: int | None = None
    max_files: int | None = None
    denied: str | None = None
    """Why its settings may not be read."""
    no_metrics: str | None = None
    """Why there are no metrics of it, and how to get them; None if that is not known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """From which values on something is worth a finding."""

    group_lag: int = 10_000
    disk_percent: int = 85
    certificate_days: int = 30


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it, as of `now_ms`."""

    status: ClusterStatus
    now_ms: int
    no_controller: str | None = None
    """Why there is none."""
    nodes: Sequence[NodeFacts] = ()
    topics: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """The settings of each topic."""
    directories: Sequence[LogDirectory] = ()
    groups: Sequence[GroupFacts] = ()
    hanging: Sequence[ActiveProducer] = ()
    """Producers whose transaction no coordinator will end."""
    left_open: Sequence[str] = ()
    """Transactional ids whose transaction is open longer than any with a timeout may be."""
    quotas: Sequence[QuotaDescription] = ()
    limits: Limits = Limits()
    unknown: Mapping[str, str] = field(default_factory=dict)
    """What could not be found out, and why."""
    features: ClusterFeatures | None = None
    _by_topic: defaultdict[str, list[PartitionMetadata]] = field(
        init=False, repr=False, compare=False, default_factory=lambda: defaultdict(list)
    )

    def __post_init__(self) -> None:
        """Checks ask for the partitions of each topic, of thousands: they are sorted out once."""
        for name, each in self.status.partitions.items():
            self._by_topic[name.topic].append(each)

    def partitions_of(self, topic: str) -> list[PartitionMetadata]:
        return self._by_topic.get(topic, [])

    def replication_factor(self, topic: str) -> int:
        """The smallest of its partitions; 0 of a topic without any."""
        return min((len(each.replicas) for each in self.partitions_of(topic)), default=0)

    def number(self, topic: str, setting: str) -> int | None:
        """A setting of a topic, if it is known and a number."""
        return as_number(self.topics.get(topic, {}).get(setting))


def as_number(text: str | None) -> int | None:
    """The number that a setting is, if it is one."""
    return int(text) if text and text.lstrip("-").isdigit() else None
