"""A member of a share group: acquires records, accepts, releases, rejects, renews or keeps them.

After a failure another member, with another id, follows: what the former one has sent may still
arrive, and what it holds is available again when its connection or its locks have ended.
"""

from collections.abc import Callable
from typing import Any

from barnabas.records.batch import compute_crc
from barnabas.records.decode import decode_records, iter_batches
from barnabas.sim.checks.deliveries import Deliveries, Holding
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import LOCK_MS
from barnabas.sim.network.stream import Stream
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from barnabas.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

_LOCK_US = LOCK_MS * 950
"""Of the duration of a lock, the part in which it holds even if the leader's clock runs fast."""
_WAIT_MS = 300
_ACCEPT, _RELEASE, _REJECT, _RENEW = 1, 2, 3, 4
_BUGS = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_REQUEST})

Held = dict[int, Holding]


class ShareMember:
    def __init__(
        self,
        client: Client,
        name: str,
        group: str,
        places: list[Place],
        deliveries: Deliveries,
        *,
        accepts_all: bool = False,
    ) -> None:
        self._client = client
        self._name = name
        self._group = group
        self._places = places
        self._topics = sorted({place.topic for place in places})
        self._deliveries = deliveries
        self._accepts_all = accepts_all
        self._lives = 0
        self._epochs: dict[str, int] = {}
        """Of the share session with each node."""
        self._connected: dict[str, Callable[[], bool]] = {}
        """Whether the connection stands that opened the session with a node. Later requests may
        go over another one, but the session, and what is held in it, ends with the first."""

    @property
    def member_id(self) -> str:
        return f"{self._name}.{self._lives}"

    async def beat(self) -> None:
        """Let the group know the topics, until the client stops."""
        client, epoch, member_id = self._client, 0, ""
        while not client.is_stopping:
            if member_id != self.member_id:
                epoch, member_id = 0, self.member_id
            try:
                host = await client.coordinator(self._group)
                request = ShareGroupHeartbeatRequest(
                    self._group, member_id, epoch, subscribed_topic_names=self._topics
                )
                answer = await client.call(host, request, lane=f"heartbeats of {member_id}")
                epoch = 0 if answer.error_code else answer.member_epoch
            except TryAgain as reason:
                client.simulator.remark("%s: %s", member_id, reason)
            await client.pause(200, 500)

    async def work(self) -> None:
        client = self._client
        while not client.is_stopping:
            place = client.random.choice(self._places)
            try:
                await self._take_part(place)
            except TryAgain as reason:
                client.simulator.remark("%s: %s", self.member_id, reason)
                client.lost_leader(place)
                self._lives += 1
                self._epochs.clear()
                await client.pause(20, 150)
            await client.pause(0, 60)

    async def _take_part(self, place: Place) -> None:
        client = self._client
        if place.topic not in client.topic_ids:
            await client.refresh(self._topics)
            raise TryAgain("the ids of the topics were not known")
        host, _ = await client.leader(place)
        for at, held in (await self._fetch(place, host)).items():
            if client.random.random() < 0.1 and not self._accepts_all:
                await client.pause(LOCK_MS // 2, LOCK_MS * 3 // 2)
            if held:
                await self._acknowledge(at, host, held)

    def _lane(self) -> str:
        return f"share of {self.member_id}"

    async def _fetch(self, place: Place, host: str) -> dict[Place, Held]:
        client, deliveries = self._client, self._deliveries
        epoch = self._epochs.get(host, 0)
        request = ShareFetchRequest(
            self._group,
            self.member_id,
            epoch,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=client.random.choice((1, 5, 50)),
            batch_size=50,
            topics=[FetchTopic(client.topic_ids[place.topic], [FetchPartition(place.partition)])],
        )
        sent_us = client.simulator.now_us
        epochs = {each: deliveries.newest_epoch(each) for each in self._places}
        for each in self._places:
            deliveries.lost_answers[each] = deliveries.lost_answers.get(each, 0) + 1
        answer = await client.call(host, request, lane=self._lane())
        for each in self._places:
            deliveries.lost_answers[each] -= 1
        self._check(answer.error_code, f"a share fetch from {host}")
        self._epochs[host] = epoch + 1
        if not epoch:
            self._connected[host] = self._connection(host)
        names = {topic_id: name for name, topic_id in client.topic_ids.items()}
        found: dict[Place, Held] = {}
        for topic in answer.responses:
            for data in topic.partitions:
                at = Place(names[topic.topic_id], data.partition_index)
                self._read(at, data.records)
                held = found[at] = {}
                for acquired in data.acquired_records:
                    for offset in range(acquired.first_offset, acquired.last_offset + 1):
                        holding = held[offset] = Holding(
                            self.member_id,
                            host,
                            acquired.delivery_count,
                            epochs[at],
                            sent_us + _LOCK_US,
                            self._connected[host],
                        )
                        deliveries.delivered(at, offset, holding, sent_us, client.simulator.now_us)
                if data.error_code and at == place:
                    self._check(data.error_code, f"a share fetch of {at} from {host}")
        return found

    def _connection(self, host: str) -> Callable[[], bool]:
        """Whether the connection that is used now stands."""
        connection: Any = self._client._connections.get((host, self._lane()))
        stream = None if connection is None else connection._transport

        def is_connected() -> bool:
            return (
                isinstance(stream, Stream)
                and not stream.is_closing()
                and not stream.peer.is_closing()
            )

        return is_connected

    def _read(self, place: Place, records: Any) -> None:
        history = self._client.history
        if any(compute_crc(batch) != header.crc for header, batch in iter_batches(records or b"")):
            if place not in history.rotten:
                raise Violation(f"{place}: {self.member_id} got a damaged batch")
            raise TryAgain("a rotten batch")
        for record in decode_records(records or b""):
            history.read(place, record.offset, bytes(record.value or b""))

    async def _acknowledge(self, place: Place, host: str, held: Held) -> None:
        """All that is held with one request, each record in its own way; some are kept."""
        client, deliveries = self._client, self._deliveries
        kinds: dict[int, int] = {}
        for offset in held:
            kind = _ACCEPT
            if not self._accepts_all:
                kind = client.random.choices((_ACCEPT, _RELEASE, _REJECT, 0), (6, 2, 1, 1))[0]
            if kind:
                kinds[offset] = kind
        if not kinds:
            return
        if client.random.random() < 0.1:
            renewal = dict.fromkeys(held, _RENEW)
            sent_us = client.simulator.now_us
            await self._send(place, host, renewal, is_renewal=True)
            for holding in held.values():
                holding.until_us = sent_us + _LOCK_US
        for offset, kind in kinds.items():
            deliveries.let_go(place, offset, held[offset])
            if kind != _RELEASE:
                deliveries.ending(place, offset)
        await self._send(place, host, kinds)
        for offset, kind in kinds.items():
            if kind == _RELEASE:
                deliveries.released(place, offset, held[offset].count, client.simulator.now_us)
            else:
                deliveries.ended(place, offset, client.simulator.now_us)

    async def _send(
        self, place: Place, host: str, kinds: dict[int, int], *, is_renewal: bool = False
    ) -> None:
        """Raises `TryAgain` unless all is stored."""
        client = self._client
        batches = [AcknowledgementBatch(at, at, [kind]) for at, kind in sorted(kinds.items())]
        partition = AcknowledgePartition(place.partition, batches)
        request = ShareAcknowledgeRequest(
            self._group,
            self.member_id,
            self._epochs[host],
            is_renewal,
            [AcknowledgeTopic(client.topic_ids[place.topic], [partition])],
        )
        self._epochs[host] += 1
        answer = await client.call(host, request, lane=self._lane())
        self._check(answer.error_code, f"acknowledgements of {place}")
        self._check(
            answer.responses[0].partitions[0].error_code, f"acknowledgements of {place} at {host}"
        )

    def _check(self, error_code: int, what: str) -> None:
        code = ErrorCode(error_code)
        if code in _BUGS:
            raise Violation(f"{self.member_id} got {code.name} for {what}")
        if code is not ErrorCode.NONE:
            raise TryAgain(f"{what}: {code.name}")
