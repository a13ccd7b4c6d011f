"""Consume, transform, produce: each record that is read is written on, in transactions."""

from barnabas.sim.checks.history import Place
from barnabas.sim.checks.transaction_history import Source
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.workloads.consumer import Consumer
from barnabas.sim.workloads.transaction_errors import Abortable, Fenced, GivenUp
from barnabas.sim.workloads.transactional_offsets import insist_on_offset
from barnabas.sim.workloads.transactional_producer import TransactionalId, TransactionalProducer


class Worker:
    """One instance of whatever uses a transactional id.

    The partitions that it reads belong to the transactional id, so of all instances at most one
    can be successful: the others have to be fenced. It ends when it is.
    """

    def __init__(
        self, client: Client, id_: TransactionalId, group: str, sources: list[Place]
    ) -> None:
        id_.instances += 1
        random = client.random
        self._client = client
        self._id = id_
        self._name = f"{id_.name}.{id_.instances}"
        self._group = group
        self._producer = TransactionalProducer(
            client,
            id_,
            self._name,
            is_newer=random.random() < 0.5,
            timeout_ms=random.choice((500, 1_500, 4_000)),
        )
        self._offsets = dict.fromkeys(sources, 0)
        """Where to read on, as committed."""
        self._consumer = Consumer(client, self._name, sources)
        self._transactions = 0
        self.is_over = False

    async def run(self) -> None:
        """Run until it is fenced, or the client has to stop."""
        client = self._client
        try:
            await self._begin()
            while not client.is_stopping:
                await self._transact(aborts=0.15, stalls=0.02, most=4)
                await client.pause(0, 60)
        except (Fenced, Abortable) as reason:
            client.simulator.say(f"{self._name} is over: {reason}")
        except GivenUp:
            pass
        self.is_over = True

    async def finish(self, ends: dict[Place, int]) -> None:
        """Process all records up to `ends`; no other worker is left."""
        self._producer.timeout_ms = 60_000
        await self._begin()
        while any(self._offsets[place] < ends[place] for place in self._offsets):
            await self._transact(aborts=0.1, stalls=0, most=40)

    async def _begin(self) -> None:
        generation = "newer" if self._producer.is_newer else "older"
        self._client.simulator.say(f"{self._name} of the {generation} generation begins")
        await self._producer.init()
        for place in self._offsets:
            offset = await insist_on_offset(
                self._client, self._id.transaction_history, self._group, place
            )
            if offset is None:
                raise GivenUp
            self._offsets[place] = offset

    # -- one transaction ---------------------------------------------------------------------------

    async def _transact(self, *, aborts: float, stalls: float, most: int) -> None:
        client, producer = self._client, self._producer
        sources = await self._read(most)
        if not sources:
            return
        self._transactions += 1
        name = f"{self._name}.{self._transactions}"
        transaction_history = self._id.transaction_history
        transaction = transaction_history.begin(name, self._group, client.simulator.now_us)
        for source in sources:
            transaction_history.take_in(transaction, source)
        committed = client.random.random() >= aborts
        steps = [producer.write, producer.commit_offsets]
        if not committed and client.random.random() < 0.5:
            steps = [producer.write_and_leave]
        if client.random.random() < 0.2:
            steps.reverse()
        await producer.begin(transaction)
        try:
            for step in steps:
                await self._stall(stalls)
                await step()
                if not committed and client.random.random() < 0.3:
                    break
        except Abortable as reason:
            client.simulator.remark("%s is aborted: %s", name, reason)
            committed = False
        await self._stall(stalls)
        await producer.end(committed=committed)
        if committed:
            self._offsets.update(transaction.offsets)

    async def _stall(self, chance: float) -> None:
        """Do nothing for so long that the transaction may be given up meanwhile."""
        if chance and self._client.random.random() < chance:
            await self._client.pause(500, 2 * self._producer.timeout_ms)

    async def _read(self, most: int) -> list[Source]:
        """Some records that are not taken in yet; all have been read in order before."""
        client = self._client
        sources: list[Source] = []
        for place, offset in self._offsets.items():
            if self._consumer.positions[place] <= offset:
                self._consumer.positions[place] = offset
                try:
                    await self._consumer.fetch(place, wait_ms=50)
                except TryAgain:
                    client.lost_leader(place)
                    await client.pause(20, 100)
            count = min(self._consumer.positions[place] - offset, client.random.randint(1, most))
            sources += (Source(place, offset + i) for i in range(count))
        return sources
