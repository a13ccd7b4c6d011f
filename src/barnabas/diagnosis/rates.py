"""What has happened between two samples: the rows of each table."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.diagnosis.sample import GroupSample, Sample

_BYTES_IN = "kafka_server_brokertopicmetrics_bytesin_total"
_CONNECTIONS = "kafka_server_socket_server_metrics_connection_count"
_BYTES_OUT = "kafka_server_brokertopicmetrics_bytesout_total"


class BrokerRow(NamedTuple):
    """A node. What only its metrics tell is None without them."""

    node_id: int
    leaders: int
    records_s: float
    bytes_in_s: float | None
    bytes_out_s: float | None
    size: int
    connections: int | None
    cpu_percent: float | None


class TopicRow(NamedTuple):
    """A topic. Without metrics, `bytes_in_s` is what its logs have grown by, and at least 0."""

    topic: str
    partitions: int
    records_s: float
    bytes_in_s: float
    bytes_out_s: float | None
    size: int


class GroupRow(NamedTuple):
    group_id: str
    state: str
    members: int
    read_s: float
    lag: int | None
    """None for groups of mirrors, which read nothing here; likewise of a client."""


class ClientRow(NamedTuple):
    """A client id at one host that reads in a group."""

    client_id: str
    host: str
    group_id: str
    partitions: int
    read_s: float
    lag: int | None


class SortKey(StrEnum):
    """By what tables are ordered, largest first; tables without it keep their own order."""

    RECORDS = "records"
    BYTES = "bytes"
    LAG = "lag"
    NAME = "name"


class Rates(NamedTuple):
    """All tables, in the order that was asked for."""

    cluster_id: str
    interval_s: float
    brokers: list[BrokerRow]
    topics: list[TopicRow]
    groups: list[GroupRow]
    clients: list[ClientRow]


def rates_of(before: Sample, now: Sample, sort: SortKey = SortKey.RECORDS) -> Rates:
    """The rows; `before` may be the same sample, and then nothing has happened."""
    between = _Between(before, now)
    groups = [between.group(each) for each in now.groups]
    clients = [row for each in now.groups for row in between.clients(each)]
    return Rates(
        now.cluster_id,
        now.at_s - before.at_s,
        sorted((between.broker(node) for node in now.addresses), key=_order(sort)),
        sorted(between.topics(), key=_order(sort)),
        sorted(groups, key=_order(sort)),
        sorted(clients, key=_order(sort)),
    )


class _Between:
    """Two samples and the time between them."""

    def __init__(self, before: Sample, now: Sample) -> None:
        self._before = before
        self._now = now
        self._seconds = now.at_s - before.at_s
        self._committed_before = {each.members.group_id: each.committed for each in before.groups}
        self._appended = {
            name: self._per_second(end - before.ends[name])
            for name, end in now.ends.items()
            if name in before.ends
        }

    def broker(self, node: int) -> BrokerRow:
        led = [name for name, each in self._now.partitions.items() if each.leader == node]
        cpu = self._counter(node, "process_cpu_seconds_total")
        metrics = self._now.metrics.get(node)
        by_listener = {} if metrics is None else metrics.by_label(_CONNECTIONS, "listener")
        return BrokerRow(
            node,
            len(led),
            sum(self._appended.get(name, 0) for name in led),
            self._counter(node, _BYTES_IN),
            self._counter(node, _BYTES_OUT),
            sum(sum(each.sizes.values()) for each in self._now.directories if each.node_id == node),
            int(sum(by_listener.values())) if by_listener else None,
            None if cpu is None else cpu * 100,
        )

    def topics(self) -> list[TopicRow]:
        partitions: Counter[str] = Counter(name.topic for name in self._now.partitions)
        appended: defaultdict[str, float] = defaultdict(float)
        for name, rate in self._appended.items():
            appended[name.topic] += rate
        size, grown = _sizes(self._now), _sizes(self._before)
        bytes_in, bytes_out = self._by_topic(_BYTES_IN), self._by_topic(_BYTES_OUT)
        return [
            TopicRow(
                topic,
                count,
                appended[topic],
                max(0, self._per_second(size[topic] - grown.get(topic, size[topic])))
                if bytes_in is None
                else bytes_in.get(topic, 0),
                None if bytes_out is None else bytes_out.get(topic, 0),
                size[topic],
            )
            for topic, count in partitions.items()
        ]

    def group(self, group: GroupSample) -> GroupRow:
        read, lag = self._progress(group, list(group.committed))
        if group.told_lags is not None:
            lag = sum(group.told_lags.values())
        members = group.members
        return GroupRow(members.group_id, members.state, len(members.members), read, lag)

    def clients(self, group: GroupSample) -> list[ClientRow]:
        """Members of one client id at one host are one row: a process with several threads."""
        assigned: defaultdict[tuple[str, str], list[TopicPartition]] = defaultdict(list)
        for member in group.members.members:
            assigned[member.client_id, member.host.removeprefix("/")] += member.partitions
        return [
            ClientRow(
                client_id, host, group.members.group_id, len(names), *self._progress(group, names)
            )
            for (client_id, host), names in assigned.items()
        ]

    def _progress(
        self, group: GroupSample, names: list[TopicPartition]
    ) -> tuple[float, int | None]:
        """Records read per second, and records left to read."""
        if is_of_mirror(group.members.group_id):
            return 0.0, None
        before = self._committed_before.get(group.members.group_id, {})
        read = lag = 0
        for name in names:
            offset = group.committed.get(name)
            if offset is None:
                continue
            read += max(0, offset - before.get(name, offset))
            lag += max(0, self._now.ends.get(name, offset) - offset)
        return self._per_second(read), lag

    def _counter(self, node: int, name: str) -> float | None:
        """A counter of a node's metrics per second; None if it is not told."""
        now, before = self._now.metrics.get(node), self._before.metrics.get(node)
        last = None if now is None else now.value(name)
        first = None if before is None else before.value(name)
        if last is None:
            return None
        return self._per_second(max(0.0, last - (last if first is None else first)))

    def _by_topic(self, name: str) -> dict[str, float] | None:
        """A counter per second for each topic over all nodes; None unless every node tells it."""
        if self._now.metrics.keys() != self._now.addresses.keys():
            return None
        rates: dict[str, float] = {}
        for node, metrics in self._now.metrics.items():
            before = self._before.metrics.get(node)
            first = {} if before is None else before.by_label(name, "topic")
            for topic, value in metrics.by_label(name, "topic").items():
                grown = max(0.0, value - first.get(topic, 0 if before is not None else value))
                rates[topic] = rates.get(topic, 0) + self._per_second(grown)
        return rates

    def _per_second(self, amount: float) -> float:
        return amount / self._seconds if self._seconds > 0 else 0.0


def _sizes(sample: Sample) -> Counter[str]:
    """The bytes of each topic, of the largest replica of each partition."""
    largest: dict[TopicPartition, int] = {}
    for directory in sample.directories:
        for name, size in directory.sizes.items():
            largest[name] = max(size, largest.get(name, 0))
    by_topic: Counter[str] = Counter()
    for name, size in largest.items():
        by_topic[name.topic] += size
    return by_topic


_BUSYNESS: Mapping[SortKey, tuple[str, ...]] = {
    SortKey.RECORDS: ("records_s", "read_s"),
    SortKey.BYTES: ("bytes_in_s", "size", "read_s"),
    SortKey.LAG: ("lag", "records_s"),
    SortKey.NAME: (),
}


def _order(sort: SortKey) -> "Callable[[NamedTuple], tuple[float | str, ...]]":
    def key(row: NamedTuple) -> tuple[float | str, ...]:
        busy = [-(getattr(row, name, 0) or 0) for name in _BUSYNESS[sort]]
        return (*busy, str(row[0]).rjust(10) if isinstance(row[0], int) else row[0])

    return key
