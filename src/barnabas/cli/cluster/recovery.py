"""What is wrong with partitions of a running cluster, what each replica has, and what an election
would lose."""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.base.output import Cell, print_table, say
from barnabas.client.admin.replicas import LogEnd, eligible_leaders, log_ends
from barnabas.client.connect.cluster_metadata import NO_LEADER, PartitionMetadata, TopicPartition
from barnabas.diagnosis.status import topics_and_min_isr
from barnabas.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Collection

    from barnabas.client.connect.cluster_client import ClusterClient

OFFLINE = "no leader"


class AilingPartition(NamedTuple):
    """A partition without a leader, or with too few replicas in sync."""

    partition: TopicPartition
    metadata: PartitionMetadata
    eligible: list[int]
    last_known: list[int]
    ends: dict[int, LogEnd]
    """Of the replicas that answer."""
    min_isr: int

    @property
    def is_offline(self) -> bool:
        return self.metadata.leader == NO_LEADER

    @property
    def problem(self) -> str:
        if self.is_offline:
            return OFFLINE
        return f"{len(self.metadata.isr)} of {self.min_isr} needed replicas in sync"

    @property
    def waits_for(self) -> list[int]:
        """Nodes that are down, and each of which has all that was acknowledged."""
        known = (*self.metadata.isr, *self.eligible)
        return [replica for replica in known if replica not in self.ends]

    @property
    def would_lead(self) -> int | None:
        """Who would be elected: the newest epoch, and the most records of it."""
        there = [replica for replica in self.metadata.replicas if replica in self.ends]
        if not self.is_offline or not there:
            return None
        return max(there, key=lambda each: (self.ends[each], each in self.last_known))

    def state(self, replica: int) -> str:
        if replica == self.metadata.leader:
            return "leader"
        if replica in self.metadata.isr:
            state = "in sync"
        elif replica in self.eligible:
            state = "eligible"
        else:
            state = "behind"
        return state if replica in self.ends else f"{state}, down"

    def set_aside(self, replica: int) -> int:
        """The records of a replica that the elected one lacks."""
        if self.would_lead is None or replica not in self.ends:
            return 0
        return max(0, self.ends[replica].end_offset - self.ends[self.would_lead].end_offset)

    def remark(self, replica: int) -> str:
        if replica == self.would_lead:
            return "would lead"
        surplus = self.set_aside(replica)
        return f"{counted(surplus, 'record')} would be set aside" if surplus else ""

    @property
    def loss(self) -> str:
        """What an election now would lose."""
        if not self.is_offline:
            return "nothing: it has a leader"
        if self.would_lead is None:
            return "all records: no replica answers, so none can be elected"
        if self.waits_for:
            nodes = ", ".join(map(str, self.waits_for))
            return f"acknowledged records that only node {nodes} has"
        if self.ends[self.would_lead].end_offset == 0:
            return "all records: every replica that answers is empty"
        return "acknowledged records that no replica has any longer, if there are any"


async def ailing_partitions(
    cluster: "ClusterClient", wanted: "Collection[TopicPartition] | None"
) -> list[AilingPartition]:
    """Partitions without a leader or below `min.insync.replicas`, of those named or of all."""
    topics, min_isr = await topics_and_min_isr(cluster)
    found = {
        TopicPartition(topic.name, each.partition): each
        for topic in topics.values()
        for each in topic.partitions
        if (each.leader == NO_LEADER or len(each.isr) < min_isr.get(topic.name, 1))
        and (wanted is None or TopicPartition(topic.name, each.partition) in wanted)
    }
    if not found:
        return []
    eligible = await eligible_leaders(cluster, sorted({name.topic for name in found}))
    ends = await log_ends(cluster, {name: each.replicas for name, each in found.items()})
    return [
        AilingPartition(
            name,
            each,
            eligible[name].elr if name in eligible else [],
            eligible[name].last_known if name in eligible else [],
            ends[name],
            min_isr.get(name.topic, 1),
        )
        for name, each in sorted(found.items())
    ]


def print_ailing(found: list[AilingPartition]) -> None:
    rows: list[list[Cell]] = [
        [
            str(each.partition) if number == 0 else "",
            each.problem if number == 0 else "",
            replica,
            each.state(replica),
            end.end_offset if (end := each.ends.get(replica)) else None,
            end.epoch if end else None,
            each.remark(replica),
        ]
        for each in found
        for number, replica in enumerate(each.metadata.replicas)
    ]
    print_table(("partition", "problem", "replica", "state", "end", "epoch", ""), rows)
    for each in found:
        if each.is_offline:
            say(f"{each.partition}: an election would lose {each.loss}")
    _say_what_to_start(found)


def _say_what_to_start(found: list[AilingPartition]) -> None:
    waiting = sorted({node for each in found if each.is_offline for node in each.waits_for})
    if waiting:
        nodes = ", ".join(map(str, waiting))
        if len(waiting) > 1:
            say(f"to lose nothing, start one of the nodes {nodes} instead: each has all records")
        else:
            say(f"to lose nothing, start node {nodes} instead: it has all acknowledged records")
    down = sorted(
        {
            replica
            for each in found
            if not each.is_offline
            for replica in each.metadata.replicas
            if replica not in each.ends
        }
    )
    if down:
        nodes = ", ".join(map(str, down))
        say(f"to let producers write with acks=all again, start node {nodes}")


def as_json(found: list[AilingPartition]) -> list[dict[str, object]]:
    return [
        {
            "topic": each.partition.topic,
            "partition": each.partition.partition,
            "problem": each.problem,
            "offline": each.is_offline,
            "would_lead": each.would_lead,
            "waits_for": each.waits_for,
            "loss": each.loss,
            "replicas": [
                {
                    "node": replica,
                    "state": each.state(replica),
                    "end_offset": end.end_offset if (end := each.ends.get(replica)) else None,
                    "epoch": end.epoch if end else None,
                    "set_aside_records": each.set_aside(replica),
                }
                for replica in each.metadata.replicas
            ],
        }
        for each in found
    ]
