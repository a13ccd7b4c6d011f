"""Checkpoints of a flow, the last one of each group and partition until it is written.

They are for Mirror Maker's tools, so groups go along even where they are refused: that is a problem
to be told, and tried again now and then.
"""

from collections.abc import Iterable
from time import monotonic

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.formats.checkpoint import CheckpointRecord
from barnabas.mirror.groups.heartbeats import RETRY_S
from barnabas.mirror.groups.internal_writer import InternalWriter


class Checkpoints:
    """Outlives connections: what was not written is written later."""

    def __init__(self) -> None:
        self._unwritten: dict[tuple[str, TopicPartition], CheckpointRecord] = {}
        self._next_at = 0.0
        self.problem = ""
        """Why there are none; empty if there are."""

    async def write(self, writer: InternalWriter, checkpoints: Iterable[CheckpointRecord]) -> None:
        """Write these, and what is left of earlier ones. Raises what another attempt may change."""
        self._unwritten.update({(each.group, each.partition): each for each in checkpoints})
        if monotonic() < self._next_at:
            return
        try:
            await writer.write_checkpoints(self._unwritten.values())
        except BarnabasError as error:
            if error.retriable:
                raise
            self._next_at = monotonic() + RETRY_S
            self.problem = f"no checkpoints are written, but groups are still mirrored: {error}"
        else:
            self._unwritten.clear()
            self.problem = ""
