"""A group with members of both protocols, which come and go, so that it changes its kind.

A coordinator turns a classic group into one of the newer protocol when the first member of that
joins, and back when the last one is gone. Whatever kind the group is, a partition has one owner at
a time, and committed offsets never go back.
"""

from functools import partial

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.ownership import Ownership
from barnabas.sim.client import TIMEOUT_MS, Client, ResponseT
from barnabas.sim.cluster import Cluster
from barnabas.sim.process.simulator import Stuck
from barnabas.sim.workloads.consumer_group_member import ConsumerGroupMember
from barnabas.sim.workloads.member import SESSION_MS, Member
from barnabas.wire.message import Request
from barnabas.wire.messages.heartbeat import HeartbeatResponse

GROUP = "mixed-readers"
_LEASE_US = SESSION_MS * 900
"""Of its session, the part in which a member is sure that it has not been removed."""
_ENDS_WORK_WITHIN_MS = 700
_RECOVERY_US = 20_000_000
_ENDS = 0.15
"""How likely a member of the newer protocol leaves or dies after a heartbeat."""


class OwningMember(Member):
    """A member of the classic protocol that says which partitions it owns, and when."""

    def __init__(
        self, client: Client, name: str, places: list[Place], ownership: Ownership
    ) -> None:
        super().__init__(client, name, GROUP, places)
        self._ownership = ownership
        self._owned: list[Place] = []

    async def _join(self) -> list[Place]:
        """It gives everything up before it joins, as the eager protocol demands, when it has ended
        what it was at."""
        if self._owned:
            await self._client.pause(0, self._client.random.choice((0, 0, _ENDS_WORK_WITHIN_MS)))
        self._give_up_all()
        self._owned = await super()._join()
        return self._owned

    async def _leave(self) -> None:
        """Once it has left, others may have its partitions."""
        self._give_up_all()
        await super()._leave()

    def _give_up_all(self) -> None:
        for place in self._owned:
            self._ownership.give_up(place, self._name)
        self._owned = []

    async def _ask(
        self,
        request: Request[ResponseT],
        *,
        max_version: int | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> ResponseT:
        sent_us = self._client.simulator.now_us
        answer = await super()._ask(request, max_version=max_version, timeout_ms=timeout_ms)
        if isinstance(answer, HeartbeatResponse) and not answer.error_code:
            for place in self._owned:
                self._ownership.take(place, self._name, sent_us + _LEASE_US)
        return answer


class MixedGroupWorkload:
    def __init__(self, cluster: Cluster, places: list[Place]) -> None:
        self._cluster = cluster
        self._simulator = cluster.simulator
        self._random = cluster.simulator.source("mixed group")
        self._places = places
        self._ownership = Ownership(cluster.simulator)
        self._clients = 0
        cluster.history.renumbered.add(GROUP)

    def begin(self) -> None:
        """One or two members of each protocol at a time, and at times none."""
        reader = self._cluster.client("offsets-of-mixed-group")
        reader.run(self._watch_offsets(reader))
        for is_new in (False, True):
            self._later(partial(self._come, is_new), self._random.choice((0, 0, 500)))
        if self._random.random() < 0.5:
            self._later(partial(self._come, self._random.random() < 0.5), 0)

    def _later(self, action: partial[None], delay_ms: int) -> None:
        self._simulator.after(delay_ms * 1000, action)

    async def _watch_offsets(self, client: Client) -> None:
        reader = Member(client, "offsets-of-mixed-readers", GROUP, self._places)
        while not client.is_stopping:
            await reader.is_committed(client.random.choice(self._places))
            await client.pause(50, 200)

    def _come(self, is_new: bool) -> None:
        """A member that goes on until it stops without a word; later another one comes."""
        if self._is_over:
            return
        client = self._add(is_new)
        self._later(partial(self._go, client, is_new), self._random.randint(800, 4_000))

    def _go(self, client: Client, is_new: bool) -> None:
        client.is_stopping = True
        self._later(partial(self._come, is_new), self._random.randint(0, 2_500))

    @property
    def _is_over(self) -> bool:
        """The run's first client stops when all do."""
        return self._cluster.clients[0].is_stopping

    def _add(self, is_new: bool, *, is_mortal: bool = True) -> Client:
        self._clients += 1
        kind = "new" if is_new else "classic"
        client = self._cluster.client(f"mixed-{self._clients}")
        name = f"{kind}-{self._clients}"
        self._simulator.say(f"{name} is to join {GROUP}")
        if is_new:
            member = ConsumerGroupMember(
                client,
                name,
                GROUP,
                self._places,
                self._ownership,
                is_mortal=is_mortal,
                ends=_ENDS,
            )
            client.run(member.beat())
            client.run(member.work())
        else:
            client.run(OwningMember(client, name, self._places, self._ownership).run())
        return client

    def judge(self) -> None:
        """Members of one protocol, or of both, get all partitions and read them."""
        kinds = self._random.choice(((False,), (True,), (False, True), (True, False)))
        clients = [self._add(is_new, is_mortal=False) for is_new in kinds]
        try:
            self._simulator.run_until_true(
                self._is_owned, _RECOVERY_US, "every partition of the group has an owner"
            )
            self._simulator.run_until_true(
                self._is_read, _RECOVERY_US, "the group has committed all that was written"
            )
        except Stuck as stuck:
            raise Violation(
                f"{GROUP} does not converge: {stuck}; {self._ownership.owners()}"
            ) from stuck
        for client in clients:
            client.is_stopping = True
        self._simulator.say(f"{GROUP} has committed all that was written")

    def _is_owned(self) -> bool:
        return len(self._ownership.owners()) == len(self._places)

    def _is_read(self) -> bool:
        return all(self._cluster.history.is_all_committed(GROUP, place) for place in self._places)
