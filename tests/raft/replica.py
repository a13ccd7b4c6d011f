"""A node of the simulation: the state machine, a disk, a clock of its own, and a network card."""

import pickle
from random import Random

from barnabas.raft import Entry, Raft, RaftConfig, ReplicaKey, Snapshot, Truncate, VoterSet, Write
from barnabas.raft.messages import Envelope, Request
from tests.raft.checks import Checker, Violation
from tests.raft.disk import Disk

_INCARNATIONS = 1_000_000


def directory_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def voters_in_snapshot(content: bytes) -> VoterSet:
    voters: VoterSet = pickle.loads(content)[1]
    return voters


class Replica:
    """Between a crash and the restart, `raft` is None. Times are those of the simulation."""

    def __init__(
        self, node_id: int, config: RaftConfig, random: Random, checker: Checker, clock_rate: float
    ) -> None:
        self.node_id = node_id
        self.key = ReplicaKey(node_id, directory_id(node_id))
        self.config = config
        self.random = random
        self.checker = checker
        self.clock_rate = clock_rate
        self.clock_offset_ms = random.randint(0, 100_000)
        self.disk = Disk()
        self.raft: Raft | None = None
        self.incarnation = 0
        self.bootstrap_voters = VoterSet()
        self.paused_until = 0
        self.syncing = False
        self.alarm = 0
        """When it is ticked next; 0 if never."""
        self.applied_end = 0
        self.digest = 0
        self.high_watermark = 0
        self.is_known_leader = False
        self._tail: list[tuple[int, int]] = []
        """End offset and epoch of each entry written, to know what a new one follows."""

    # -- clock ---------------------------------------------------------------------------------

    def local_ms(self, now: int) -> int:
        return int(now * self.clock_rate) + self.clock_offset_ms

    def global_ms(self, local_ms: int) -> int:
        return int((local_ms - self.clock_offset_ms) / self.clock_rate) + 1

    # -- life ----------------------------------------------------------------------------------

    def start(self, now: int, node_ids: list[int]) -> None:
        self.incarnation += 1
        self.paused_until = 0
        self.syncing = False
        self.alarm = 0
        self.is_known_leader = False
        self.applied_end = self.digest = 0
        recovered = self.disk.recover()
        self.raft = Raft(
            self.key,
            config=self.config,
            recovered=recovered,
            bootstrap_voters=self.bootstrap_voters,
            seeds=node_ids,
            voters_in_snapshot=voters_in_snapshot,
            randint=self.random.randint,
            now_ms=self.local_ms(now),
        )
        self.high_watermark = self.raft.high_watermark
        snapshot = recovered.snapshot
        self._tail = [tuple(snapshot.snapshot_id)] if snapshot else [(0, 0)]
        self._tail += [(entry.end_offset, entry.epoch) for entry in recovered.entries]

    def crash(self) -> None:
        unsynced = len(self.disk.unsynced)
        self.checker.happened["crashes with unsynced writes"] += unsynced > 0
        self.disk.crash(self.random.choice((0, 0, self.random.randint(0, unsynced), unsynced)))
        self.raft = None

    def wipe(self, number: int) -> None:
        """Come back, once started, with an empty disk, and so as another replica."""
        self.raft = None
        self.disk = Disk()
        self.key = ReplicaKey(self.node_id, directory_id(number))
        self.bootstrap_voters = VoterSet()

    # -- the outer loop of the state machine ---------------------------------------------------

    def address(self, envelope: Envelope) -> Envelope:
        """A connection ends with the process: answers to an earlier one never arrive."""
        if isinstance(envelope.message, Request):
            number = envelope.correlation_id + self.incarnation * _INCARNATIONS
            return envelope._replace(correlation_id=number)
        return envelope

    def receive(self, envelope: Envelope, now: int) -> bool:
        if self.raft is None:
            return False
        if not isinstance(envelope.message, Request):
            incarnation, number = divmod(envelope.correlation_id, _INCARNATIONS)
            if incarnation != self.incarnation:
                return False
            envelope = envelope._replace(correlation_id=number)
        self.raft.receive(envelope, self.local_ms(now))
        return True

    def take_ready(self) -> list[Envelope]:
        """Do what there is to do, under the checker's eyes, and return what to send."""
        raft = self.raft
        assert raft is not None
        ready = raft.ready()
        self._check_writes(ready.writes)
        self.disk.write(ready.writes)
        if ready.restore is not None:
            end_offset = ready.restore.snapshot_id.end_offset
            self.digest = pickle.loads(ready.restore.content)[0]
            self.checker.restored(self.key, ready.restore, self.digest)
            self.applied_end = end_offset
        for entry in ready.committed:
            if entry.base_offset != self.applied_end:
                raise Violation(f"{self.key} applied {entry} after {self.applied_end}")
            self.digest = self.checker.applied(self.key, entry, self.digest)
            self.applied_end = entry.end_offset
        for outcome in ready.reads:
            if outcome.error_code == 0:
                self.checker.read_ends(self.key, outcome.token, self.applied_end)
        self.is_known_leader = raft.is_leader
        if raft.is_leader:
            self.checker.leads(self.key, raft)
        if raft.high_watermark < self.high_watermark:
            raise Violation(f"{self.key} went back from {self.high_watermark}")
        self.high_watermark = raft.high_watermark
        return [self.address(envelope) for envelope in ready.messages]

    def _check_writes(self, writes: list[Write]) -> None:
        for write in writes:
            match write.change:
                case Entry() as entry:
                    if self._tail[-1][0] != entry.base_offset:
                        raise Violation(f"{self.key} leaves a gap before {entry}")
                    self.checker.wrote(entry, self._tail[-1][1])
                    self._tail.append((entry.end_offset, entry.epoch))
                case Truncate(end_offset):
                    while self._tail[-1][0] > end_offset and len(self._tail) > 1:
                        self._tail.pop()
                    self.checker.happened["truncations"] += 1
                case Snapshot(snapshot_id):
                    if tuple(snapshot_id) not in self._tail:  # a leader's, not of this log
                        self._tail = [tuple(snapshot_id)]
                        self.checker.happened["snapshots from a leader"] += 1

    def take_snapshot(self) -> None:
        assert self.raft is not None
        if self.applied_end > self.raft.log_start_offset:
            voters = self.raft.voters_at(self.applied_end)
            self.raft.take_snapshot(self.applied_end, pickle.dumps((self.digest, voters)))
