"""Clients that read one topic and write to another in transactions, and who reads the outcome."""

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.transaction_history import TransactionHistory
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.process.simulator import Stuck
from barnabas.sim.workloads.committed_reader import CommittedReader
from barnabas.sim.workloads.producer import Producer
from barnabas.sim.workloads.transactional_offsets import insist_on_offset, watch_offsets
from barnabas.sim.workloads.transactional_producer import TransactionalId
from barnabas.sim.workloads.worker import Worker

INTERNAL_PLACES = [Place("__consumer_offsets", 0), Place("__transaction_state", 0)]
_GROUP = "workers"
_FIRST_BATCHES = 12
_RECOVERY_US = 40_000_000


class _Slot:
    """A transactional id, what it reads, and who uses it."""

    def __init__(self, id_: TransactionalId, sources: list[Place]) -> None:
        self.id = id_
        self.sources = sources
        self.newest: Worker | None = None


class TransactionalWorkload:
    def __init__(self, cluster: Cluster, sources: list[Place], outputs: list[Place]) -> None:
        self._cluster = cluster
        self._simulator = cluster.simulator
        self._random = cluster.simulator.source("workload")
        self._sources = sources
        self._outputs = outputs
        self.transaction_history = TransactionHistory(cluster.history, outputs)
        count = min(cluster.profile.transactional_ids, len(sources))
        self._slots = [
            _Slot(TransactionalId(f"tx-{i}", self.transaction_history), sources[i::count])
            for i in range(count)
        ]
        self._clients = [cluster.client("worker-1"), cluster.client("worker-2")]

    def begin(self) -> None:
        near, far = self._clients
        for place in self._sources:
            near.run(self._fill(near, place))
        for slot in self._slots:
            self._succeed(slot)
        near.run(CommittedReader(near, "committed", self._outputs, self.transaction_history).run())
        if self._cluster.profile.racks:
            reader = CommittedReader(
                far, "committed-nearby", self._outputs, self.transaction_history, rack="rack-2"
            )
            far.run(reader.run())
        far.run(watch_offsets(far, self.transaction_history, _GROUP, self._sources))

    async def _fill(self, client: Client, place: Place) -> None:
        """See to it that there is something to read from the beginning on."""
        producer = Producer(client, f"first-{place}", [place], idempotent=False)
        while producer.acknowledged < _FIRST_BATCHES and not client.is_stopping:
            await producer.produce(place)

    def _succeed(self, slot: _Slot) -> None:
        """Start an instance for the transactional id; at times there are two."""
        if any(client.is_stopping for client in self._clients):
            return
        if slot.newest is None or slot.newest.is_over or self._random.random() < 0.15:
            client = self._random.choice(self._clients)
            slot.newest = Worker(client, slot.id, _GROUP, slot.sources)
            client.run(slot.newest.run())
        delay_us = self._random.randint(100_000, 1_500_000)
        self._simulator.after(delay_us, lambda: self._succeed(slot))

    # -- the end -----------------------------------------------------------------------------------

    def judge(self) -> None:
        """The clients have stopped, and all that was to be read is written."""
        self._simulator.run_until_true(
            lambda: all(client.is_done for client in self._clients),
            _RECOVERY_US,
            "those who use transactional ids stop",
        )
        self._wait_for_ends()
        judge = self._cluster.client("judge-of-transactions")
        ends = {
            place: max(self._cluster.history.acknowledged[place]) + 1 for place in self._sources
        }
        for slot in self._slots:
            worker = Worker(judge, slot.id, _GROUP, slot.sources)
            judge.run(worker.finish(ends))
        self._wait_for(judge, "all records are taken in")
        self._wait_for_ends()
        reader = CommittedReader(
            judge, "judge-of-transactions", self._outputs, self.transaction_history
        )
        offsets: dict[Place, int] = {}
        for place in self._outputs:
            judge.run(self._read_all(judge, reader, place))
        for place in self._sources:
            judge.run(self._ask_offset(judge, place, offsets))
        self._wait_for(judge, "all that is committed is read")
        if any(offsets[place] < end for place, end in ends.items()):
            raise Violation(f"{offsets} are committed of {ends}")
        self.transaction_history.check(offsets)
        self._simulator.say(f"all of {self.transaction_history.committed} transactions is there")

    def _wait_for_ends(self) -> None:
        """No operator is needed: transactions that are not ended time out."""
        simulator = self._simulator
        simulator.run_until_true(self._is_led, _RECOVERY_US, "every partition is led")
        try:
            simulator.run_until_true(self._is_stable, _RECOVERY_US, "all transactions end")
        except Stuck as stuck:
            if self._is_led():
                raise Violation(f"a last stable offset hangs: {stuck}") from stuck
            raise

    def _is_led(self) -> bool:
        """Every partition has its records committed."""
        led = [partition for _, partition in self._cluster.led_partitions()]
        places = {(partition.topic, partition.index) for partition in led}
        return places.issuperset((*self._sources, *self._outputs)) and all(
            partition.high_watermark == partition.log.log_end_offset for partition in led
        )

    def _is_stable(self) -> bool:
        """Nothing keeps readers of committed records from reading all that there is."""
        return self._is_led() and all(
            partition.last_stable_offset == partition.high_watermark
            for _, partition in self._cluster.led_partitions()
        )

    def _wait_for(self, judge: Client, what: str) -> None:
        self._simulator.run_until(self._simulator.now_us + 1000)
        self._simulator.run_until_true(lambda: judge.is_done, _RECOVERY_US, what)

    async def _read_all(self, judge: Client, reader: CommittedReader, place: Place) -> None:
        while True:
            try:
                end = await reader.ask_for_end(place)
                if reader.positions[place] >= end:
                    return
                await reader.fetch(place)
            except TryAgain:
                judge.lost_leader(place)
                await judge.pause(50, 100)

    async def _ask_offset(self, judge: Client, place: Place, offsets: dict[Place, int]) -> None:
        offset = await insist_on_offset(judge, self.transaction_history, _GROUP, place)
        assert offset is not None
        offsets[place] = offset
