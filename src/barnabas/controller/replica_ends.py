"""How far the logs of a partition's replicas go: what an unclean election decides by."""

from collections.abc import Mapping
from typing import NamedTuple


class ReplicaEnd(NamedTuple):
    """Two logs compare as their last epochs do, and within one epoch as their ends do."""

    epoch: int
    """Of the last record; -1 if there is none."""
    end_offset: int

    def __str__(self) -> str:
        return f"up to {self.end_offset} (epoch {self.epoch})"


ReplicaEnds = Mapping[tuple[bytes, int], Mapping[int, ReplicaEnd]]
"""By topic id and partition, then by broker; who has not answered is missing."""
