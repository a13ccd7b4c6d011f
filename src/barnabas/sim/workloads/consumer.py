"""A consumer of certain partitions that reads on, asks for ends, and begins again."""

from collections.abc import Awaitable, Callable

from barnabas.records.batch import compute_crc
from barnabas.records.decode import decode_records, iter_batches
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_BY_NAME = 12
_LATEST = -1
_EARLIEST = -2
_WAIT_MS = 300
TRANSIENT = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Consumer:
    """Reads every record in order; a gap, a change or a step back is a violation."""

    isolation_level = 0
    may_meet_rot = True
    """It reads while some replica may have rotted."""

    def __init__(self, client: Client, name: str, places: list[Place], *, rack: str = "") -> None:
        """With a `rack` it reads from the replica there, if the leader says that there is one."""
        self._client = client
        self._name = name
        self._rack = rack
        self._nearest: dict[Place, int] = {}
        self.positions = dict.fromkeys(places, 0)

    async def run(self) -> None:
        client = self._client
        while not client.is_stopping:
            place = client.random.choice(list(self.positions))
            draw = client.random.random()
            if draw < 0.02:
                self.positions[place] = 0
            elif draw < 0.1:
                await self._attempt(place, self.ask_for_end)
            else:
                await self._attempt(place, self.fetch)

    async def _attempt(self, place: Place, action: Callable[[Place], Awaitable[int]]) -> None:
        client = self._client
        try:
            await action(place)
        except TryAgain as error:
            client.simulator.remark("%s %s: %s", self._name, place, error)
            client.lost_leader(place)
            self._nearest.pop(place, None)
            await client.pause(20, 150)

    async def fetch(self, place: Place, wait_ms: int = _WAIT_MS) -> int:
        """Read on at this place; returns how many records came."""
        client = self._client
        host, epoch = await client.leader(place)
        nearest = client.host_of(self._nearest.get(place, -1))
        host = nearest or host
        position = self.positions[place]
        partition = FetchPartition(
            place.partition, epoch, position, partition_max_bytes=client.random.choice((1, 1 << 20))
        )
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            isolation_level=self.isolation_level,
            topics=[FetchTopic(place.topic, partitions=[partition])],
            rack_id=self._rack,
        )
        response = await client.call(host, request, lane=self._name, max_version=_BY_NAME)
        if not response.responses:
            raise TryAgain(ErrorCode(response.error_code).name)
        answer = response.responses[0].partitions[0]
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if nearest:
                raise TryAgain("the follower is behind")
            if await self._is_behind(place):
                return 0
        if answer.preferred_read_replica >= 0:
            self._nearest[place] = answer.preferred_read_replica
        if answer.error_code == ErrorCode.CORRUPT_MESSAGE and self._meets_rot(place):
            raise TryAgain("the leader has lost it")
        _check(ErrorCode(answer.error_code), f"a fetch of {place}@{position} from {host}")
        self._check_sums(place, host, answer)
        self._take(place, host, answer)
        return self.positions[place] - position

    async def _is_behind(self, _place: Place) -> bool:
        """Whether the record that it wants was deleted; if so, it reads on at the next one."""
        return False

    def _meets_rot(self, place: Place) -> bool:
        return self.may_meet_rot and place in self._client.history.rotten

    def _check_sums(self, place: Place, host: str, answer: PartitionData) -> None:
        """Every batch is as it was sent, unless it has rotted: then readers notice."""
        for header, batch in iter_batches(answer.records or b""):
            if compute_crc(batch) != header.crc:
                if self._meets_rot(place):
                    raise TryAgain(f"{host} has sent a rotten batch")
                raise Violation(f"{place}: {host} has sent a damaged batch at {header.base_offset}")

    def _take(self, place: Place, host: str, answer: PartitionData) -> None:
        start = self.positions[place]
        for record in decode_records(answer.records or b""):
            if record.offset < start:
                continue
            if record.offset != self.positions[place]:
                raise Violation(
                    f"{place}: {self._name} asked for {self.positions[place]} and got "
                    f"{record.offset} from {host}"
                )
            self._client.history.read(place, record.offset, bytes(record.value or b""))
            self.positions[place] = record.offset + 1

    async def ask_for_end(self, place: Place) -> int:
        """The end of the partition as consumers see it."""
        history = self._client.history
        least = history.known_end(place, self.isolation_level)
        offset = await self._ask_for_offset(place, _LATEST)
        history.end(place, offset, least, self.isolation_level)
        return offset

    async def ask_for_start(self, place: Place) -> int:
        """The first offset that is not deleted."""
        return await self._ask_for_offset(place, _EARLIEST)

    async def _ask_for_offset(self, place: Place, timestamp: int) -> int:
        client = self._client
        host, epoch = await client.leader(place)
        topic = ListOffsetsTopic(
            place.topic, [ListOffsetsPartition(place.partition, epoch, timestamp)]
        )
        request = ListOffsetsRequest(-1, self.isolation_level, [topic])
        response = await client.call(host, request, lane=self._name)
        answer = response.topics[0].partitions[0]
        _check(ErrorCode(answer.error_code), f"the offset {timestamp} of {place} from {host}")
        return answer.offset


def _check(code: ErrorCode, what: str) -> None:
    if code in TRANSIENT:
        raise TryAgain(code.name)
    if code is not ErrorCode.NONE:
        raise Violation(f"{code.name} for {what}")
