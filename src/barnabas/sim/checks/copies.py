"""How many copies of committed records are left when a partition gives replicas up.

A record was acknowledged because `min.insync.replicas` had it. As many have to stay when replicas
are deleted, although the in-sync set alone would be satisfied with one.
"""

from typing import NamedTuple

from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.sim.checks.history import Violation

_MIN_ISR = "min.insync.replicas"
Key = tuple[bytes, int]


class _Known(NamedTuple):
    replicas: frozenset[int]
    holders: frozenset[int]
    """Who has everything that is committed: those in sync, and the eligible leaders."""
    min_isr: int


class Copies:
    """Compares the replicas of each partition with those of the newest metadata before."""

    def __init__(self) -> None:
        self._known: dict[Key, _Known] = {}

    def learn(self, image: MetadataImage) -> None:
        known = {}
        for topic in image.topics.values():
            min_isr = int(image.topic_configs(topic.name).get(_MIN_ISR, "1"))
            for partition in topic.partitions:
                key = (topic.topic_id, partition.index)
                known[key] = now = _known(partition, min_isr)
                before = self._known.get(key, now)
                if not before.holders <= now.replicas:
                    self._check(f"{topic.name}-{partition.index}", before, now)
        self._known = known

    def _check(self, name: str, before: _Known, now: _Known) -> None:
        min_isr = min(before.min_isr, now.min_isr)  # either may have been in force in between
        left = (before.holders & now.replicas) | now.holders
        if len(left) < min(min_isr, len(now.replicas)):
            raise Violation(
                f"{name}: of the replicas {sorted(before.holders)}, which had everything, only "
                f"{sorted(left)} are left, and min.insync.replicas is {min_isr}"
            )


def _known(partition: PartitionImage, min_isr: int) -> _Known:
    holders = frozenset((*partition.isr, *partition.elr))
    return _Known(frozenset(partition.replicas), holders, min_isr)
