"""Heartbeats of a flow in one cluster.

They are for dashboards and for `mirror status`, so a cluster that refuses them does not stop
anything else: that is a problem to be told, and tried again now and then.
"""

from time import monotonic, time

from barnabas.errors import BarnabasError
from barnabas.mirror.flow import ClusterEnd
from barnabas.mirror.formats.heartbeat import HeartbeatRecord
from barnabas.mirror.formats.internal_topics import HEARTBEATS_TOPIC
from barnabas.mirror.groups.internal_writer import InternalWriter

RETRY_S = 60.0


class Heartbeats:
    """From `source` to `target`, written into the latter."""

    def __init__(self, writer: InternalWriter, source: ClusterEnd, target: ClusterEnd) -> None:
        self._writer = writer
        self._source = source
        self._target = target
        self._next_at = 0.0
        self.problem = ""
        """Why there are none; empty if there are."""

    async def send(self) -> None:
        """Say that the flow is alive. Raises what another attempt may change."""
        if monotonic() < self._next_at:
            return
        record = HeartbeatRecord(self._source.name, self._target.name, round(time() * 1000))
        try:
            await self._writer.write_heartbeat(record)
        except BarnabasError as error:
            if error.retriable:
                raise
            self._next_at = monotonic() + RETRY_S
            self.problem = (
                f"no heartbeats in {self._target.name}, records flow all the same: {error}. Allow "
                f"Create and Write on topic {HEARTBEATS_TOPIC} there"
            )
        else:
            self.problem = ""
