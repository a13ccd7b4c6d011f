"""What is agreed on about one partition."""

from dataclasses import dataclass, field

from barnabas.wire.messages.metadata_records import PartitionChangeRecord, PartitionRecord

NO_LEADER = -1
NO_LEADER_CHANGE = -2

RECOVERED = 0
RECOVERING = 1
"""The leader was elected uncleanly, and not all replicas have followed it yet.

What they cut off meanwhile may have been acknowledged, so they keep it aside."""
NO_RECOVERY_CHANGE = -1


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """One partition: who keeps it, who is in sync, who leads it; a change makes a new one.

    The first of `replicas` is the preferred leader. `leader` is -1 while the partition is offline.
    While replicas move, `replicas` holds both the `adding_replicas` and the `removing_replicas`.

    `elr`, the eligible leader replicas: not in sync, but with all that is committed. They left the
    in-sync set when it fell below `min.insync.replicas`, and as long as there are any the leader
    commits nothing. `isr` is empty only when its last member came back without what it had
    acknowledged. Such members, as far as they have anything left, are in `last_known_elr`.
    """

    index: int
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding_replicas: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    leader_recovery_state: int = RECOVERED
    elr: list[int] = field(default_factory=list)
    last_known_elr: list[int] = field(default_factory=list)

    @property
    def is_moving(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    def is_only_replica(self, broker_id: int) -> bool:
        """Whether no other broker has a replica, apart from those being added."""
        return set(self.replicas) - set(self.adding_replicas) <= {broker_id}

    @classmethod
    def recorded(cls, record: PartitionRecord) -> "PartitionImage":
        return cls(
            record.partition_id,
            record.replicas,
            record.isr,
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            record.adding_replicas,
            record.removing_replicas,
            record.leader_recovery_state,
            record.eligible_leader_replicas or [],
            record.last_known_elr or [],
        )

    def changed(self, change: PartitionChangeRecord) -> "PartitionImage":
        """What is None, or stands for no change, stays; a leader that is given begins an epoch."""
        leadership_changed = change.leader != NO_LEADER_CHANGE
        recovery = change.leader_recovery_state
        return PartitionImage(
            self.index,
            _or(change.replicas, self.replicas),
            _or(change.isr, self.isr),
            change.leader if leadership_changed else self.leader,
            self.leader_epoch + leadership_changed,
            self.partition_epoch + 1,
            _or(change.adding_replicas, self.adding_replicas),
            _or(change.removing_replicas, self.removing_replicas),
            self.leader_recovery_state if recovery == NO_RECOVERY_CHANGE else recovery,
            _or(change.eligible_leader_replicas, self.elr),
            _or(change.last_known_elr, self.last_known_elr),
        )

    def led_by(self, leader: int, isr: list[int]) -> "PartitionImage":
        """The same under another leader, or none: `dataclasses.replace`, only much faster."""
        return PartitionImage(
            self.index,
            self.replicas,
            isr,
            leader,
            self.leader_epoch,
            self.partition_epoch,
            self.adding_replicas,
            self.removing_replicas,
            self.leader_recovery_state,
            self.elr,
            self.last_known_elr,
        )

    def record(self, topic_id: bytes) -> PartitionRecord:
        """The record that makes this partition out of nothing."""
        return PartitionRecord(
            partition_id=self.index,
            topic_id=topic_id,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing_replicas,
            adding_replicas=self.adding_replicas,
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            eligible_leader_replicas=self.elr or None,
            last_known_elr=self.last_known_elr or None,
        )


def _or(changed: list[int] | None, kept: list[int]) -> list[int]:
    return kept if changed is None else changed
