"""A cluster in one thread, decided by one seed: `python -m tests.raft.simulation 42` runs seed 42.

For some seconds of simulated time, everything that can go wrong does, while clients write and
read, and voters come and go. Then the faults stop, and within a bound the cluster must have a
leader, commit, answer a read, and have every node apply the same.
"""

import sys
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

from barnabas.raft import Batch, Envelope, Raft, ReplicaKey, VoterSet
from tests.raft.checks import Checker, Stuck
from tests.raft.faults import Faults
from tests.raft.profile import Profile, draw_profile
from tests.raft.replica import Replica

FAULTY_MS = 3_000
RECOVERY_MS = 2_000
"""Ten times as long as a follower believes in a silent leader."""
EVENTS_AT_ONCE = 20_000


class Simulation:
    def __init__(
        self, seed: int, profile: Profile | str | None = None, *, trace: bool = False
    ) -> None:
        """A profile may be given as it is, or drawn with an emphasis, or just drawn."""
        self.random = Random(seed)
        self.profile = (
            profile if isinstance(profile, Profile) else draw_profile(self.random, profile)
        )
        self.trace = trace
        self.checker = Checker()
        self.now = 0
        self.cuts: list[set[tuple[int, int]]] = []
        """Each a set of senders and receivers between whom nothing gets through."""
        self.is_faulty = True
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._event_count = 0
        self._payload = 0
        self.replicas = {
            node_id: Replica(
                node_id,
                self.profile.config,
                self.random,
                self.checker,
                self.random.choice(self.profile.clock_rates),
            )
            for node_id in range(1, self.profile.nodes + 1)
        }
        self.faults = Faults(self)
        keys = [replica.key for replica in self.replicas.values()]
        bootstrap = VoterSet.of(keys[: self.profile.voters])
        for replica in self.replicas.values():
            if replica.key in bootstrap:
                replica.bootstrap_voters = bootstrap
            self.start(replica)

    # -- events --------------------------------------------------------------------------------

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._event_count += 1
        heappush(self._events, (self.now + delay_ms, self._event_count, action))

    def run_until(self, end: int) -> None:
        """Run every event up to then; too many of them at one moment are a loop without end."""
        moment, count = self.now, 0
        while self._events and self._events[0][0] <= end:
            self.now, _, action = heappop(self._events)
            if self.now != moment:
                moment, count = self.now, 0
            count += 1
            if count > EVENTS_AT_ONCE:
                raise Stuck("replicas keep each other busy without end")
            action()
        self.now = end

    def say(self, text: str) -> None:
        if self.trace:
            print(f"{self.now:6} {text}")

    # -- replicas ------------------------------------------------------------------------------

    def start(self, replica: Replica) -> None:
        replica.start(self.now, list(self.replicas))
        self.say(f"{replica.node_id} starts")
        self.pump(replica)

    def alive(self) -> list[Replica]:
        return [replica for replica in self.replicas.values() if replica.raft is not None]

    def leaders(self) -> list[Replica]:
        return [r for r in self.alive() if r.raft is not None and r.raft.is_leader]

    def pump(self, replica: Replica) -> None:
        """After every call of the state machine: take its output, set its alarm."""
        if replica.raft is None:
            return
        raft = replica.raft
        led, high_watermark = replica.is_known_leader, replica.high_watermark
        for envelope in replica.take_ready():
            self.send(envelope)
            self.faults.sent(replica, envelope.message)
        if raft.is_leader and not led:
            self.say(f"{replica.node_id} leads in epoch {raft.epoch}")
            self.faults.elected(replica)
        if raft.is_leader and raft.high_watermark > high_watermark:
            self.faults.committed(replica)
        self._sync(replica)
        incarnation = replica.incarnation
        deadline = max(replica.global_ms(replica.raft.next_deadline_ms()), self.now + 1)
        if not replica.alarm or deadline < replica.alarm:
            replica.alarm = deadline
            self.after(deadline - self.now, lambda: self._tick(replica, incarnation, deadline))

    def _tick(self, replica: Replica, incarnation: int, deadline: int) -> None:
        if replica.incarnation != incarnation or replica.alarm != deadline:
            return
        self.when_awake(replica, lambda raft: raft.tick(replica.local_ms(self.now)), alarm=True)

    def when_awake(
        self, replica: Replica, action: Callable[[Raft], None], *, alarm: bool = False
    ) -> None:
        """A paused process finds everything waiting when it goes on; a dead one does not."""
        incarnation = replica.incarnation

        def go_on() -> None:
            if replica.raft is None or replica.incarnation != incarnation:
                return
            if replica.paused_until > self.now:
                self.after(replica.paused_until - self.now, go_on)
                return
            if alarm:
                replica.alarm = 0
            action(replica.raft)
            self.pump(replica)

        go_on()

    def _sync(self, replica: Replica) -> None:
        if replica.syncing or not replica.disk.unsynced:
            return
        replica.syncing = True
        sequence = replica.disk.unsynced[-1].sequence
        incarnation, disk = replica.incarnation, replica.disk

        def synced() -> None:
            if replica.incarnation == incarnation and replica.raft is not None:
                disk.sync(sequence)
                self.when_awake(replica, report)

        def report(raft: Raft) -> None:
            replica.syncing = False
            raft.persisted(sequence, replica.local_ms(self.now))

        delays = self.profile.sync_delays_ms if self.is_faulty else (1,)
        self.after(self.random.choice(delays), synced)

    # -- network -------------------------------------------------------------------------------

    def send(self, envelope: Envelope) -> None:
        random, profile = self.random, self.profile
        copies = 1
        if self.is_faulty:
            link = (envelope.sender, envelope.receiver)
            if any(link in cut for cut in self.cuts):
                return
            if profile.loss and random.random() < profile.loss:
                return
            if profile.duplication and random.random() < profile.duplication:
                copies = 2
        for _ in range(copies):
            delay_ms = random.choice(profile.delays_ms) if self.is_faulty else 1
            self.after(delay_ms, lambda: self._deliver(envelope))

    def _deliver(self, envelope: Envelope) -> None:
        replica = self.replicas.get(envelope.receiver)
        if replica is None or replica.raft is None:
            return
        if replica.paused_until > self.now:
            self.after(replica.paused_until - self.now, lambda: self._deliver(envelope))
        elif replica.receive(envelope, self.now):
            self.pump(replica)

    # -- clients -------------------------------------------------------------------------------

    def propose(self) -> int | None:
        """Write to a node that says it leads; returns the offset to wait for."""
        leaders = self.leaders()
        if not leaders:
            return None
        replica = self.random.choice(leaders)
        assert replica.raft is not None
        if replica.paused_until > self.now:
            return None
        self._payload += 1
        batch = Batch(b"%d" % self._payload, self.random.choice((1, 1, 3)))
        proposal = replica.raft.propose(batch, replica.local_ms(self.now))
        self.pump(replica)
        return None if proposal.error_code else proposal.base_offset

    def read(self) -> None:
        for replica in self.leaders():
            if replica.paused_until <= self.now and replica.raft is not None:
                replica.raft.read(self.checker.read_begins(), replica.local_ms(self.now))
                self.pump(replica)

    def _clients(self) -> None:
        if self.is_faulty:
            self.propose()
            if self.random.random() < self.profile.read_share:
                self.read()
            self.after(self.random.randint(1, 2 * self.profile.propose_every_ms), self._clients)

    # -- the run -------------------------------------------------------------------------------

    def run_with_faults(self) -> None:
        self._clients()
        self.faults.begin()
        self.run_until(FAULTY_MS)
        self.is_faulty = False
        self.cuts.clear()
        self.say("faults stop")
        for replica in self.replicas.values():
            replica.paused_until = min(replica.paused_until, self.now)
            if replica.raft is None:
                self.start(replica)
        self._recover()

    def _recover(self) -> None:
        """Something new must be committed and read, and all replicas must have all of it."""
        written: int | None = None
        reads = self.checker.reads
        end = self.now + RECOVERY_MS
        while self.now < end:
            self.run_until(self.now + 50)
            if written is None or self.checker.committed_end <= written:
                written = self.propose()
                self.read()
            elif self.checker.reads > reads and self._all_alike():
                return
            else:
                self.read()
        state = {
            r.node_id: (r.raft.status(), r.applied_end) for r in self.replicas.values() if r.raft
        }
        raise Stuck(f"no progress within {RECOVERY_MS} ms after the faults: {state}")

    def _all_alike(self) -> bool:
        applied = {(replica.applied_end, replica.digest) for replica in self.replicas.values()}
        return applied == {(self.checker.committed_end, self.checker.digests[max(applied)[0]])}

    def voters_everywhere(self) -> set[tuple[ReplicaKey, ...]]:
        """Every set of voters that some living replica goes by."""
        return {replica.raft.voters.keys for replica in self.alive() if replica.raft is not None}


def run_seed(seed: int, emphasis: str | None = None, *, trace: bool = False) -> Simulation:
    simulation = Simulation(seed, emphasis, trace=trace)
    try:
        simulation.run_with_faults()
    except (AssertionError, LookupError, TypeError, ValueError) as violation:
        command = f"python -m tests.raft.simulation {seed} {emphasis or ''}"
        violation.add_note(f"reproduce with: {command}")
        raise
    return simulation


if __name__ == "__main__":
    simulation = run_seed(int(sys.argv[1]), *sys.argv[2:3], trace=True)
    print(
        f"{len(simulation.checker.committed)} entries committed, "
        f"{len(simulation.checker.leaders)} leaders, {simulation.checker.reads} reads: all is well"
    )
