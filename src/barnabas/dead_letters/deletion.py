"""Dead letters that are deleted."""

from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.dead_letters.letters import LetterCluster
from barnabas.dead_letters.progress import Replayed, replayed_up_to


class Droppable(NamedTuple):
    """Up to which offsets dead letters would be deleted, and how many these are."""

    before: dict[TopicPartition, int]
    letters: int
    kept: int = 0
    """Those that replays have seen, and that stay: they follow one that was not sent back."""


async def droppable(cluster: LetterCluster, topic: str, *, replayed: bool) -> Droppable:
    """What would be deleted.

    With `replayed`, only letters that were sent back: up to the first that was passed over.
    """
    async with cluster.admin() as admin:
        await admin.describe_topic(topic)
        before = await admin.offsets(topic)
        starts = await admin.offsets(topic, "earliest")
    kept = 0
    if replayed:
        found = await replayed_up_to(cluster, topic)
        for each, end in before.items():
            one = found.get(each, Replayed())
            seen = min(end, one.end)
            first = one.passed_over.since(starts[each]).first
            before[each] = seen if first is None else min(seen, first)
            kept += max(0, seen - max(before[each], starts[each]))
    known = {each: end for each, end in before.items() if end > starts[each]}
    return Droppable(known, sum(end - starts[each] for each, end in known.items()), kept)


async def drop_letters(cluster: LetterCluster, before: dict[TopicPartition, int]) -> None:
    """Delete them for good."""
    async with cluster.admin() as admin:
        await admin.delete_records(before)
