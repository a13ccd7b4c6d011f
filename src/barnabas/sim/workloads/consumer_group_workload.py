"""Members of a consumer group of the newer protocol, and whether they have all in the end."""

from collections import Counter
from collections.abc import Callable

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.ownership import Ownership
from barnabas.sim.client import Client
from barnabas.sim.cluster import Cluster
from barnabas.sim.process.simulator import Stuck
from barnabas.sim.workloads.consumer_group_member import ConsumerGroupMember
from barnabas.sim.workloads.member import Member

_GROUP = "new-readers"
_RECOVERY_US = 20_000_000


class ConsumerGroupWorkload:
    def __init__(self, cluster: Cluster, places: list[Place], group: str = _GROUP) -> None:
        """`places` may get more."""
        self._cluster = cluster
        self._group = group
        self._prefix = "" if group == _GROUP else f"{group}-"
        """Of the names of clients."""
        self._places = places
        self._ownership = Ownership(cluster.simulator)
        self._members: list[ConsumerGroupMember] = []

    @property
    def commits(self) -> int:
        return sum(member.commits for member in self._members)

    def begin(self) -> None:
        """Members on two machines, which can be on different sides of a cut."""
        for number in range(3):
            client_name = f"{self._prefix}group-client-{number % 2}"
            self._add(f"{self._prefix}new-member-{number}", client_name, is_mortal=True)

        client = self._cluster.clients[-1]
        client.run(self._watch_offsets(client))

    async def _watch_offsets(self, client: Client) -> None:
        """Read what the group has committed: it never goes back."""
        reader = Member(client, f"offsets-of-{self._group}", self._group, self._places)
        while not client.is_stopping:
            await reader.is_committed(client.random.choice(self._places))
            await client.pause(50, 200)

    def _add(self, name: str, client_name: str, *, is_mortal: bool) -> None:
        clients = {client.name: client for client in self._cluster.clients}
        client = clients.get(client_name) or self._cluster.client(client_name)
        member = ConsumerGroupMember(
            client, name, self._group, self._places, self._ownership, is_mortal=is_mortal
        )
        client.run(member.beat())
        client.run(member.work())
        self._members.append(member)

    def judge(self, change: Callable[[], None] | None = None) -> None:
        """The others have stopped without a word: two more get all partitions, and read them.

        And again after a `change` of what there is to be read.
        """
        for number in range(2):
            self._add(
                f"{self._prefix}judge-{number}", f"{self._prefix}judge-of-groups", is_mortal=False
            )
        self._converge()
        if change is not None:
            change()
            self._converge()
        self._cluster.clients[-1].is_stopping = True
        self._cluster.simulator.say(f"{self._group} has committed all that was written")

    def _converge(self) -> None:
        try:
            self._cluster.simulator.run_until_true(
                self._is_balanced, _RECOVERY_US, "every partition of the group has an owner"
            )
            self._cluster.simulator.run_until_true(
                self._is_read, _RECOVERY_US, "the group has committed all that was written"
            )
        except Stuck as stuck:
            raise Violation(
                f"{self._group} does not converge: {stuck}; {self._ownership.owners()}"
            ) from stuck

    def _is_balanced(self) -> bool:
        owners = self._ownership.owners()
        sizes = Counter(owner.partition(".")[0] for owner in owners.values())
        least = len(self._places) // 2
        return len(owners) == len(self._places) and all(
            sizes[f"{self._prefix}judge-{number}"] >= least for number in range(2)
        )

    def _is_read(self) -> bool:
        return all(
            self._cluster.history.is_all_committed(self._group, place) for place in self._places
        )
