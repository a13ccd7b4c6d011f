"""A compacted topic: a few keys, most of them overwritten again and again, some deleted.

Readers begin at offset 0 and read to the end. They find the newest value of every key that was
acknowledged when they began, or a newer one. Tombstones are records without a value, so the name
of each record is in a header.
"""

from random import Random

from barnabas.records.decode import decode_batch, iter_batches
from barnabas.sim.checks.compacted_log import CompactedLog
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client
from barnabas.sim.cluster import Cluster
from barnabas.sim.workloads.consumer import Consumer
from barnabas.sim.workloads.producer import Content, Producer
from barnabas.wire.messages.fetch import PartitionData

TOPIC = "compacted"
SETTINGS = {"log.cleaner.backoff.ms": "200"}
"""Of the nodes: a log is compacted many times within a run."""
LONG_RETENTION = "864000000"
"""Longer than clocks are ever set forward: no tombstone is removed within a run."""
_NAME = "name"
_KEYS = 6
_TOMBSTONES = 0.15


def draw_configs(random: Random) -> dict[str, str]:
    """Of the topic."""
    return {
        "cleanup.policy": "compact",
        "segment.bytes": "1024",
        "min.cleanable.dirty.ratio": random.choice(("0", "0.3", "0.5")),
        "delete.retention.ms": random.choice((LONG_RETENTION, LONG_RETENTION, "0", "500")),
        "file.delete.delay.ms": random.choice(("0", "400")),
    }


def keeps_tombstones(configs: dict[str, str]) -> bool:
    return configs["delete.retention.ms"] == LONG_RETENTION


class CompactionWorkload:
    def __init__(self, cluster: Cluster, places: list[Place]) -> None:
        self._cluster = cluster
        self._places = places
        self._contents: dict[bytes, _Content] = {}
        self._is_idempotent = False

    def begin(self) -> None:
        """On two machines, which can be on different sides of a cut."""
        near, far = self._cluster.client("compacted-1"), self._cluster.client("compacted-2")
        self._is_idempotent = near.random.random() < 0.6
        for number in range(near.random.choice((1, 2))):
            producer = self._producer(near, f"keyed-{number}", self._places)
            near.run(producer.run((10, 80)))
        far.run(self._reader(far, self._places).run())
        if self._cluster.profile.racks:
            near.run(self._reader(near, self._places, rack="rack-2").run())

    def _producer(self, client: Client, name: str, places: list[Place]) -> "_KeyedProducer":
        return _KeyedProducer(client, name, places, self._contents, idempotent=self._is_idempotent)

    def _reader(self, client: Client, places: list[Place], rack: str = "") -> "CompactedReader":
        return CompactedReader(client, places, self._cluster, self._contents, rack)

    async def judge(self, judge: Client, place: Place) -> None:
        """Write something new, and read what is left."""
        producer = _KeyedProducer(judge, f"judge-{place}", [place], self._contents)
        while not producer.acknowledged:
            await producer.produce(place)
        reader = self._reader(judge, [place])
        reader.may_meet_rot = False
        while not await reader.read_to_the_end(place):
            pass
        if self._is_idempotent:
            self._cluster.history.check_order(place, is_compacted=True)
        self._cluster.simulator.say(f"{place}: every key has its newest value")


_Content = tuple[bytes, bytes | None]
"""Key and value."""


class _KeyedProducer(Producer):
    """Writes to a few keys."""

    def __init__(
        self,
        client: Client,
        name: str,
        places: list[Place],
        contents: dict[bytes, _Content],
        *,
        idempotent: bool = False,
    ) -> None:
        super().__init__(client, name, places, idempotent=idempotent)
        self._contents = contents

    def _content(self, name: bytes) -> Content:
        random = self._client.random
        # The first keys are written often, the last one hardly ever: it has to outlive them.
        key = b"key-%d" % int(_KEYS * random.random() ** 3)
        value = None if random.random() < _TOMBSTONES else name
        self._contents[name] = key, value
        return key, value, ((_NAME, name),)


class CompactedReader(Consumer):
    """Reads from offset 0 to the end, again and again; there may be gaps where compaction was."""

    def __init__(
        self,
        client: Client,
        places: list[Place],
        cluster: Cluster,
        contents: dict[bytes, _Content],
        rack: str = "",
    ) -> None:
        super().__init__(client, f"compacted-reader{rack}", places, rack=rack)
        self._watch = cluster.watch
        self._contents = contents
        self._found: dict[Place, dict[bytes, int]] = {}
        """The last offset of every key, as read so far."""

    async def run(self) -> None:
        client = self._client
        while not client.is_stopping:
            await self.read_to_the_end(client.random.choice(list(self.positions)))
            await client.pause(20, 300)

    async def read_to_the_end(self, place: Place) -> bool:
        """False if the client has to stop before."""
        client = self._client
        newest = self._newest_acknowledged(place)
        self.positions[place] = 0
        self._found[place] = {}
        while self.positions[place] <= max(newest.values(), default=-1):
            if client.is_stopping and client.name != "judge":
                return False
            await self._attempt(place, self.fetch)
        self._check_found(place, newest)
        return True

    def _newest_acknowledged(self, place: Place) -> dict[bytes, int]:
        newest: dict[bytes, int] = {}
        for offset, name in sorted(self._client.history.acknowledged[place].items()):
            newest[self._contents[name][0]] = offset
        return newest

    def _check_found(self, place: Place, newest: dict[bytes, int]) -> None:
        """What is not there any more has been replaced further down the log, or may be gone."""
        log = self._log(place)
        end = self.positions[place]
        for key, offset in newest.items():
            found = self._found[place].get(key, -1)
            if found >= offset or log.is_replaced_behind(key, end) or log.may_be_gone(key):
                continue
            raise Violation(
                f"{place}: {self._name} has read up to {end} and found {key!r} at {found}, but it "
                f"was acknowledged at {offset}"
            )

    def _log(self, place: Place) -> CompactedLog:
        return self._watch.compacted_log(place)

    def _take(self, place: Place, host: str, answer: PartitionData) -> None:
        for header, batch in iter_batches(answer.records or b""):
            if header.next_offset <= self.positions[place]:
                continue
            for record in decode_batch(batch):
                if record.offset < self.positions[place]:
                    continue
                name = bytes(dict(record.headers)[_NAME] or b"")
                self._client.history.read(place, record.offset, name)
                content = _optional(record.key), _optional(record.value)
                if content != self._contents[name]:
                    raise Violation(
                        f"{place}@{record.offset}: {content} from {host}, but {name!r} was sent "
                        f"as {self._contents[name]}"
                    )
                self._log(place).check_gap(
                    f"{place} on {host}", self.positions[place], record.offset
                )
                self.positions[place] = record.offset + 1
                self._found[place][self._contents[name][0]] = record.offset
            self._log(place).check_gap(
                f"{place} on {host}", self.positions[place], header.next_offset
            )
            self.positions[place] = header.next_offset


def _optional(data: object) -> bytes | None:
    return None if data is None else bytes(data)  # type: ignore[call-overload]
