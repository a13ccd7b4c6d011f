"""A topic whose oldest records are deleted while it is used: by requests, and by retention.

Its clients know that records below the start of the log are gone. All others have to be there.
"""

from random import Random

from barnabas.sim.checks.deleted_records import DeletedRecords
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.watch import Watch
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.workloads.consumer import TRANSIENT, Consumer
from barnabas.sim.workloads.producer import Producer
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)

TOPIC = "short"
SETTINGS = {"log.retention.check.interval.ms": "300"}
"""Of the nodes: what retention does not keep is deleted within a run."""
_TO_THE_END = -1
_BEYOND = 10_000
"""More records than a run has."""
_RETENTIONS: tuple[dict[str, str], ...] = (
    {},
    {"retention.bytes": "3000"},
    {"retention.ms": "1500"},
)
_TIMEOUT_MS = 1_000
_ATTEMPTS = 25


def draw_configs(random: Random) -> dict[str, str]:
    """Of the topic."""
    return {
        "segment.bytes": random.choice(("1024", "2000", "100000")),
        "file.delete.delay.ms": random.choice(("0", "400")),
        **random.choice(_RETENTIONS),
    }


class DeletionWorkload:
    def __init__(self, cluster: Cluster, places: list[Place]) -> None:
        self._cluster = cluster
        self._places = places
        self._watch = cluster.watch
        self._deleted = cluster.watch.deleted
        self._is_idempotent = False

    def begin(self) -> None:
        """On two machines, which can be on different sides of a cut."""
        near, far = self._cluster.client("deleter-1"), self._cluster.client("deleter-2")
        self._is_idempotent = near.random.random() < 0.5
        producer = Producer(near, "short", self._places, idempotent=self._is_idempotent)
        near.run(producer.run((20, 120)))
        far.run(_ShortConsumer(far, "short-reader", self._places, self._deleted).run())
        far.run(Deleter(far, self._places, self._watch).run())

    async def judge(self, judge: Client, place: Place) -> None:
        """Write something new, and read everything that is not deleted."""
        producer = Producer(judge, f"judge-{place}", [place], idempotent=False)
        while not producer.acknowledged:
            await producer.produce(place)
        consumer = _ShortConsumer(judge, f"judge-{place}", [place], self._deleted)
        acknowledged = self._cluster.history.acknowledged[place]
        while consumer.positions[place] <= max(acknowledged):
            try:
                await consumer.fetch(place)
            except TryAgain:
                judge.lost_leader(place)
                await judge.pause(50, 100)
        if self._is_idempotent:  # of a plain one's copies, the first may be deleted
            self._cluster.history.check_order(place)
        await self._delete_all(judge, place)
        self._cluster.simulator.say(
            f"{place}: all records are there from {self._deleted.start_of(place)} on"
        )

    async def _delete_all(self, judge: Client, place: Place) -> None:
        """All nodes are well, or soon will be: they delete records when they are asked to."""
        deleter = Deleter(judge, [place], self._watch)
        end = max(self._cluster.history.acknowledged[place]) + 1
        for _ in range(_ATTEMPTS):
            try:
                await deleter.delete(place, end)
            except TryAgain:
                judge.lost_leader(place)
                await judge.pause(50, 100)
            else:
                return
        raise Violation(f"{place}: no node has deleted the records in {_ATTEMPTS} attempts")


class _ShortConsumer(Consumer):
    """Reads on at the start of the log when the record that it wants is deleted."""

    def __init__(
        self, client: Client, name: str, places: list[Place], deleted: DeletedRecords
    ) -> None:
        super().__init__(client, name, places)
        self._deleted = deleted

    async def _is_behind(self, place: Place) -> bool:
        position, start = self.positions[place], self._deleted.start_of(place)
        if position >= start:
            return False
        earliest = await self.ask_for_start(place)
        if earliest > self._deleted.start_of(place):
            raise Violation(
                f"{place} starts at {earliest}, as {self._name} was told, and no replica has "
                f"deleted more than what is below {self._deleted.start_of(place)}"
            )
        self.positions[place] = earliest
        return True


class Deleter:
    """Asks for the deletion of older records, of all there are, and of some that do not exist."""

    def __init__(self, client: Client, places: list[Place], watch: Watch) -> None:
        self._client = client
        self._places = places
        self._watch = watch
        self._deleted = watch.deleted

    async def run(self) -> None:
        client = self._client
        while not client.is_stopping:
            await client.pause(200, 900)
            place = client.random.choice(self._places)
            try:
                await self.delete(place, self._draw_offset(place))
            except TryAgain as error:
                client.simulator.remark("deleter %s: %s", place, error)
                client.lost_leader(place)

    def _draw_offset(self, place: Place) -> int:
        random = self._client.random
        end = max(self._client.history.standing[place], default=-1) + 1
        match random.choice(("some", "some", "most", "all", "beyond")):
            case "some":
                start = min(self._deleted.start_of(place), end)
                return random.randint(start, min(start + 8, end))
            case "most":
                return max(0, end - random.randint(0, 3))
            case "all":
                return _TO_THE_END
            case _:
                return end + _BEYOND

    async def delete(self, place: Place, offset: int) -> None:
        """Raises `TryAgain` if it is not done on all replicas, as far as is known."""
        client = self._client
        is_beyond = offset >= _BEYOND
        if not is_beyond:
            self._deleted.asks(place, offset)
        host, _ = await client.leader(place)
        asked = DeleteRecordsPartition(place.partition, offset)
        request = DeleteRecordsRequest([DeleteRecordsTopic(place.topic, [asked])], _TIMEOUT_MS)
        losses = self._deleted.losses
        response = await client.call(host, request, lane="deletions")
        answer = response.topics[0].partitions[0]
        code = ErrorCode(answer.error_code)
        client.simulator.remark("%s: deletion up to %d: %s", place, offset, code.name)
        if code in TRANSIENT or code in (
            ErrorCode.REQUEST_TIMED_OUT,
            ErrorCode.OFFSET_OUT_OF_RANGE,
        ):
            raise TryAgain(code.name)
        if code or is_beyond:
            raise Violation(f"{code.name} for a deletion of {place} up to {offset} from {host}")
        if losses == self._deleted.losses:
            self._watch.deleted_before(place, answer.low_watermark)
