"""What an unclean election would do: what each replica has, who would lead, what is lost."""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.base.output import Cell, counted, print_table, say
from barnabas.client.admin.replicas import LogEnd, eligible_leaders, log_ends
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection

    from barnabas.client.connect.cluster_client import ClusterClient


class Prospect(NamedTuple):
    """A partition without a leader."""

    partition: TopicPartition
    replicas: list[int]
    waits_for: list[int]
    """In sync or eligible, and not there: each of them has all that was acknowledged."""
    ends: dict[int, LogEnd]

    @property
    def leader(self) -> int | None:
        """Who would be elected: the newest epoch, and the most records of it."""
        if not self.ends:
            return None
        there = [replica for replica in self.replicas if replica in self.ends]
        return max(there, key=self.ends.__getitem__)

    def remark(self, replica: int) -> str:
        end = self.ends.get(replica)
        if end is None:
            return "down; has all acknowledged records" if replica in self.waits_for else "down"
        if replica == self.leader:
            return "would lead"
        assert self.leader is not None
        surplus = end.end_offset - self.ends[self.leader].end_offset
        return f"{counted(surplus, 'record')} would be set aside" if surplus > 0 else ""


async def prospects(
    cluster: "ClusterClient", partitions: "Collection[TopicPartition] | None"
) -> list[Prospect]:
    """The partitions that have no leader, of those named or of all."""
    topics = await cluster.refresh(None)
    wanted = {
        TopicPartition(topic.name, each.partition): each
        for topic in topics.values()
        for each in topic.partitions
        if each.leader == NO_LEADER
        and (partitions is None or TopicPartition(topic.name, each.partition) in partitions)
    }
    if not wanted:
        return []
    eligible = await eligible_leaders(cluster, sorted({name.topic for name in wanted}))
    ends = await log_ends(cluster, {name: each.replicas for name, each in wanted.items()})
    return [
        Prospect(
            name,
            each.replicas,
            [r for r in (*each.isr, *eligible[name].elr) if r not in ends[name]],
            ends[name],
        )
        for name, each in sorted(wanted.items())
    ]


def print_prospects(found: list[Prospect]) -> None:
    rows: list[list[Cell]] = [
        [
            str(prospect.partition),
            replica,
            end.end_offset if (end := prospect.ends.get(replica)) else None,
            end.epoch if end else None,
            prospect.remark(replica),
        ]
        for prospect in found
        for replica in prospect.replicas
    ]
    print_table(("partition", "replica", "end", "epoch", ""), rows)
    waiting = sorted({node for prospect in found for node in prospect.waits_for})
    if waiting:
        nodes = ", ".join(map(str, waiting))
        say(
            f"to lose nothing, start {'one of the nodes' if len(waiting) > 1 else 'node'} {nodes} "
            "instead: each has all acknowledged records"
        )


def as_json(found: list[Prospect]) -> list[dict[str, object]]:
    return [
        {
            "topic": prospect.partition.topic,
            "partition": prospect.partition.partition,
            "would_lead": prospect.leader,
            "waits_for": prospect.waits_for,
            "replicas": [
                {
                    "node": replica,
                    "end_offset": end.end_offset if (end := prospect.ends.get(replica)) else None,
                    "epoch": end.epoch if end else None,
                }
                for replica in prospect.replicas
            ],
        }
        for prospect in found
    ]
