"""Leaders that are stuck: others of the in-sync set take over.

A broker whose disk is full can't store metadata records. Elected as a leader, it never learns that,
and the partition stands still; so does one whose former leader it still believes in. Only members
of the in-sync set that have replayed more of the metadata log and keep up with it replace a leader:
if none does, because all are busy or nothing can be committed, nothing changes. The in-sync set
stays as it is: the new leader removes who lags.
"""

from collections import Counter
from dataclasses import replace

from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.controller.sessions.broker_sessions import BrokerSessions
from barnabas.metadata.image import PartitionImage
from barnabas.quantities import counted


class StuckLeaders:
    """Looks for them as long as a broker is stuck, once in a session timeout."""

    def __init__(self, config: ControllerConfig, sessions: BrokerSessions) -> None:
        self._config = config
        self._sessions = sessions
        self.next_ms: int | None = None

    def heard(self, now_ms: int) -> None:
        """A broker sent a heartbeat, which may show that it is stuck."""
        if self.next_ms is None and self._sessions.stuck():
            self.next_ms = now_ms

    def move(self, draft: Draft, now_ms: int) -> None:
        """Replace leaders that are stuck, if it is time to look for them."""
        if self.next_ms is None or now_ms < self.next_ms:
            return
        stuck = self._sessions.stuck()
        if not stuck:
            self.next_ms = None
            return
        finished = self._replace(draft, stuck)
        self.next_ms = now_ms + (self._config.session_timeout_ms if finished else 1)

    def _replace(self, draft: Draft, stuck: dict[int, int]) -> bool:
        """Returns False if some are left for the next time."""
        found = [
            (topic, partition, leader)
            for topic in draft.image.topics.values()
            for partition in topic.partitions
            if partition.leader in stuck
            and (leader := self._successor(draft, partition, stuck[partition.leader])) is not None
        ]
        moved = found[: self._config.max_elections_at_a_time]
        for topic, partition, leader in moved:
            change_partition(draft, topic, replace(partition, leader=leader))
        for broker_id, count in Counter(partition.leader for _, partition, _ in moved).items():
            draft.warnings.append(
                f"broker {broker_id} does not replay the metadata log; is its disk full? Others "
                f"lead {counted(count, 'partition')} that it led"
            )
        return len(moved) == len(found)

    def _successor(self, draft: Draft, partition: PartitionImage, offset: int) -> int | None:
        """The first member of the in-sync set that has replayed more than `offset`."""
        for replica in partition.replicas:
            if (
                replica in partition.isr
                and draft.image.is_active(replica)
                and replica not in draft.behind
                and self._sessions.replayed(replica) > offset
            ):
                return replica
        return None
