"""Members of a share group, and whether every record is done with in the end."""

from barnabas.sim.checks.deliveries import Deliveries
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.process.simulator import Stuck
from barnabas.sim.workloads.share_member import ShareMember
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

_GROUP = "queue"
_GROUP_RESOURCE = 32
_RECOVERY_US = 30_000_000


class ShareWorkload:
    def __init__(self, cluster: Cluster, places: list[Place]) -> None:
        self._cluster = cluster
        self._places = places
        self.deliveries = Deliveries(self._newest_epoch)

    def _newest_epoch(self, place: Place) -> int:
        key = self._cluster.partition_keys().get(str(place))
        return -1 if key is None else self._cluster.watch.newest_epoch(*key)

    def begin(self) -> None:
        """Members on two machines, which can be on different sides of a cut."""
        clients = [self._cluster.client(f"share-client-{number}") for number in range(2)]
        for number in range(3):
            client = clients[number % 2]
            self._run(client, f"worker-{number}", accepts_all=False)

    def _run(self, client: Client, name: str, *, accepts_all: bool) -> None:
        member = ShareMember(
            client, name, _GROUP, self._places, self.deliveries, accepts_all=accepts_all
        )

        async def work() -> None:
            await self._begin_at_the_start(client)
            client.run(member.beat())
            client.run(member.work())

        client.run(work())

    async def _begin_at_the_start(self, client: Client) -> None:
        """The group has to get the records from before it was there, too."""
        config = AlterableConfig("share.auto.offset.reset", 0, "earliest")
        resource = AlterConfigsResource(_GROUP_RESOURCE, _GROUP, [config])
        while not client.is_stopping:
            try:
                request = IncrementalAlterConfigsRequest([resource])
                answer = await client.call(client.any_node(), request)
                if not answer.responses[0].error_code:
                    return
            except TryAgain as reason:
                client.simulator.remark("share group: %s", reason)
            await client.pause(50, 100)

    # -- the end -----------------------------------------------------------------------------------

    def judge(self) -> None:
        """The others have stopped without a word: one more gets everything that is not done."""
        judge = self._cluster.client("judge-of-shares")
        self._run(judge, "judge", accepts_all=True)
        simulator = self._cluster.simulator
        simulator.run_until(simulator.now_us + 1_000)  # it has begun, even if all is done
        try:
            simulator.run_until_true(self._is_done, _RECOVERY_US, "every record is done with")
        except Stuck as stuck:
            raise Violation(f"{_GROUP} does not get everything: {stuck}") from stuck
        judge.is_stopping = True
        for place in self._places:
            for offset in range(max(self._cluster.history.acknowledged[place]) + 1):
                if not self.deliveries.is_accounted_for(place, offset):
                    raise Violation(f"{place}@{offset} was done with, but not by a member")
        simulator.say(f"all records are done with, {self.deliveries.accepted} by an answer")

    def _is_done(self) -> bool:
        """The group has nothing left of any partition."""
        ended: set[Place] = set()
        for node in self._cluster.nodes():
            for led in node.share_partitions.of_group(_GROUP):
                partition = led.partition
                if led.state is not None and led.state.start_offset >= partition.high_watermark:
                    ended.add(Place(partition.topic, partition.index))
        return ended.issuperset(self._places)
