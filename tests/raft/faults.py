"""What goes wrong in a simulation, and the administrator who changes voters meanwhile."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.raft import Voter
from barnabas.raft.messages import Message, VoteResponse
from tests.raft.replica import Replica

if TYPE_CHECKING:
    from tests.raft.simulation import Simulation


class Faults:
    def __init__(self, simulation: "Simulation") -> None:
        self.simulation = simulation
        self.random = simulation.random
        weights = simulation.profile.faults
        self.names = [name for name, weight in weights.items() for _ in range(weight)]
        self.directories = 100
        self.wiped = False

    def begin(self) -> None:
        if self.names:
            self._later()

    def _later(self) -> None:
        every_ms = self.simulation.profile.fault_every_ms
        self.simulation.after(self.random.randint(1, 2 * every_ms), self._fault)

    def _fault(self) -> None:
        if self.simulation.is_faulty:
            name = self.random.choice(self.names)
            getattr(self, name)()
            self._later()

    def _only_while_faulty(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.simulation.after(delay_ms, lambda: action() if self.simulation.is_faulty else None)

    # -- whom it hits ----------------------------------------------------------------------------

    def _anybody(self) -> Replica:
        return self.random.choice(list(self.simulation.replicas.values()))

    def _leader(self) -> Replica | None:
        leaders = self.simulation.leaders()
        return self.random.choice(leaders) if leaders else None

    def _awake_leader(self) -> Replica | None:
        leader = self._leader()
        return leader if leader is None or leader.paused_until <= self.simulation.now else None

    # -- crashes and pauses ------------------------------------------------------------------------

    def crash(self) -> None:
        self._crash(self._anybody())

    def crash_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._crash(leader)

    def _crash(self, replica: Replica) -> None:
        if replica.raft is None:
            return
        simulation = self.simulation
        simulation.say(f"{replica.node_id} crashes")
        replica.crash()
        restart_ms = self.random.choice(simulation.profile.restarts_ms)
        simulation.after(restart_ms, lambda: self._restart(replica))
        if self.random.random() < 0.5:
            for other in simulation.alive():
                self._notice(other, replica.node_id)

    def _notice(self, replica: Replica, lost: int) -> None:
        """A connection breaks."""
        simulation = self.simulation
        simulation.when_awake(
            replica, lambda raft: raft.disconnected(lost, replica.local_ms(simulation.now))
        )

    def power_cut(self) -> None:
        """Several at once."""
        nodes = list(self.simulation.replicas.values())
        for replica in self.random.sample(nodes, self.random.randint(2, len(nodes))):
            self._crash(replica)

    # -- crashes at the worst moment ---------------------------------------------------------------

    def sent(self, replica: Replica, message: Message) -> None:
        if isinstance(message, VoteResponse) and message.vote_granted:
            self._crash_perhaps(replica, self.simulation.profile.crash_after_vote)

    def elected(self, replica: Replica) -> None:
        profile = self.simulation.profile
        self._crash_perhaps(replica, profile.crash_new_leader)
        assert replica.raft is not None
        is_full = len(replica.raft.voters.voters) == profile.nodes
        if is_full and profile.eager_removal and self.random.random() < profile.eager_removal:
            self._only_while_faulty(1, lambda: self._remove_voter(replica))
        if profile.split_new_leader and self.random.random() < profile.split_new_leader:
            self._only_while_faulty(
                self.random.choice(profile.crash_delays_ms), self._cut_elsewhere
            )

    def committed(self, replica: Replica) -> None:
        self._crash_perhaps(replica, self.simulation.profile.crash_committing_leader)

    def _crash_perhaps(self, replica: Replica, probability: float) -> None:
        if probability and self.random.random() < probability:
            delay_ms = self.random.choice(self.simulation.profile.crash_delays_ms)
            self._only_while_faulty(delay_ms, lambda: self._crash(replica))

    def _restart(self, replica: Replica) -> None:
        if replica.raft is None:
            self.simulation.start(replica)

    def pause(self) -> None:
        self._pause(self._anybody())

    def pause_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            self._pause(leader)

    def _pause(self, replica: Replica) -> None:
        length_ms = self.random.choice((20, 100, 400, 800))
        replica.paused_until = self.simulation.now + length_ms
        self.simulation.say(f"{replica.node_id} pauses for {length_ms} ms")

    def wipe(self) -> None:
        """A voter loses its disk. Once a run, and only if all agree on the voters, so that
        what is committed is certain to be on a majority of those left."""
        simulation = self.simulation
        replica = self._anybody()
        everywhere = simulation.voters_everywhere()
        if len(everywhere) != 1 or len(simulation.alive()) < len(simulation.replicas):
            return
        voters = next(iter(everywhere))
        if replica.key in voters and (self.wiped or len(voters) < 3):
            return
        self.wiped = self.wiped or replica.key in voters
        self.directories += 1
        simulation.say(f"{replica.node_id} is wiped")
        simulation.checker.happened["wiped disks"] += 1
        replica.wipe(self.directories)
        simulation.after(self.random.choice((1, 50)), lambda: self._restart(replica))

    # -- network -----------------------------------------------------------------------------------

    def partition(self) -> None:
        nodes = list(self.simulation.replicas)
        side = set(self.random.sample(nodes, self.random.randint(1, len(nodes) - 1)))
        self._cut({(a, b) for a in nodes for b in nodes if (a in side) != (b in side)})

    def _cut_elsewhere(self) -> None:
        """What was cut off is in touch again, and others are not."""
        self.simulation.cuts.clear()
        self.partition()

    def isolate_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            node_id, nodes = leader.node_id, list(self.simulation.replicas)
            self._cut({(node_id, n) for n in nodes} | {(n, node_id) for n in nodes})

    def one_way(self) -> None:
        nodes = list(self.simulation.replicas)
        deaf = self.random.choice(nodes)
        hears = self.random.sample(nodes, self.random.randint(0, len(nodes) - 1))
        self._cut({(n, deaf) for n in nodes if n not in hears})

    def _cut(self, pairs: set[tuple[int, int]]) -> None:
        simulation = self.simulation
        simulation.say(f"cut {sorted(pairs)}")
        simulation.cuts.append(pairs)
        if self.random.random() < 0.5:
            for sender, receiver in sorted(pairs):
                self._notice(simulation.replicas[receiver], sender)

        def heal() -> None:
            if pairs in simulation.cuts:
                simulation.say(f"heal {sorted(pairs)}")
                simulation.cuts.remove(pairs)

        simulation.after(self.random.choice(simulation.profile.heal_ms), heal)

    # -- the administrator -------------------------------------------------------------------------

    def add_voter(self) -> None:
        leader = self._awake_leader()
        if leader is not None and leader.raft is not None:
            replica = self._anybody()
            result = leader.raft.add_voter(Voter(replica.key), leader.local_ms(self.simulation.now))
            self.simulation.say(f"{leader.node_id} adds {replica.key}: {result}")
            self.simulation.pump(leader)

    def remove_voter(self) -> None:
        leader = self._awake_leader()
        if leader is not None:
            self._remove_voter(leader)

    def _remove_voter(self, leader: Replica) -> None:
        """A lost replica first: a majority of those that are left might not be enough."""
        if leader.raft is None or leader.paused_until > self.simulation.now:
            return
        present = {replica.key for replica in self.simulation.replicas.values()}
        voters = leader.raft.voters.keys
        lost = [key for key in voters if key not in present]
        key = self.random.choice(lost or voters)
        result = leader.raft.remove_voter(key, leader.local_ms(self.simulation.now))
        self.simulation.say(f"{leader.node_id} removes {key}: {result}")
        self.simulation.pump(leader)

    def snapshot(self) -> None:
        replica = self._anybody()
        if replica.raft is not None and replica.paused_until <= self.simulation.now:
            replica.take_snapshot()
            self.simulation.pump(replica)

    def transfer(self) -> None:
        leader = self._awake_leader()
        if leader is not None and leader.raft is not None:
            target = self._anybody().node_id
            leader.raft.transfer_leadership(target, leader.local_ms(self.simulation.now))
            self.simulation.say(f"{leader.node_id} hands over to {target}")
            self.simulation.pump(leader)

    def resign(self) -> None:
        leader = self._awake_leader()
        if leader is not None and leader.raft is not None:
            self.simulation.say(f"{leader.node_id} resigns")
            leader.raft.resign(leader.local_ms(self.simulation.now))
            self.simulation.pump(leader)
