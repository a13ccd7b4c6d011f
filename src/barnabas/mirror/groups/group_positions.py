"""What a group has read in one cluster, as places in the other. Decisions, without I/O."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import OffsetAndMetadata
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.offsets.translations import Place, Translations

_WITHOUT_MEMBERS = {"", "Empty", "Dead"}
Offsets = dict[TopicPartition, int]


class Routes(NamedTuple):
    """The ways from one cluster to the other."""

    forward: Translations
    """Of the flow from here to there."""
    backward: Translations | None = None
    """Of the flow from there to here, if its records are told from others."""


def checkpoints_of(
    group: str, committed: Mapping[TopicPartition, OffsetAndMetadata], routes: Routes
) -> list[CheckpointRecord]:
    """Where a group goes on in the other cluster, for all of its partitions that are known there.

    A topic that keeps its name may have records of both flows. The group goes on at the first
    record of either that it has not read.
    """
    found: dict[TopicPartition, CheckpointRecord] = {}
    for partition, (offset, metadata) in committed.items():
        for place in _places(partition, offset, routes):
            there, translated = place
            known = found.get(there)
            if known is None or translated < known.downstream_offset:
                found[there] = CheckpointRecord(group, there, offset, translated, metadata)
    return sorted(found.values())


def _places(partition: TopicPartition, offset: int, routes: Routes) -> Iterable[Place]:
    forward = routes.forward.translate(partition, offset)
    backward = None if routes.backward is None else routes.backward.invert(partition, offset)
    return [place for place in (forward, backward) if place is not None]


def commits_of(
    checkpoints: Iterable[CheckpointRecord],
    committed: Mapping[TopicPartition, int],
    *,
    refresh: bool = False,
) -> Offsets:
    """What to commit there: nothing that would move the group backwards.

    With `refresh`, offsets that stay are committed again, because they expire.
    """
    return {
        each.partition: each.downstream_offset
        for each in checkpoints
        if (known := committed.get(each.partition)) is None
        or known < each.downstream_offset
        or (refresh and known == each.downstream_offset)
    }


def has_members(state: str) -> bool:
    """Whether a group of this state is at work."""
    return state not in _WITHOUT_MEMBERS
