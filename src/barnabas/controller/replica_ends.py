"""The log ends of a partition's replicas, which decide an unclean election."""

from collections.abc import Mapping
from typing import NamedTuple


class ReplicaEnd(NamedTuple):
    """Compared by the last epoch, and within one epoch by the end offset."""

    epoch: int
    """The leader epoch of the last record; -1 if there is none."""
    end_offset: int

    def __str__(self) -> str:
        return f"up to {self.end_offset} (epoch {self.epoch})"


ReplicaEnds = Mapping[tuple[bytes, int], Mapping[int, ReplicaEnd]]
"""By topic id and partition, then by broker; brokers that have not answered are missing."""
