"""Groups whose committed offsets expire within the run, and others that are quiet and must not.

Clocks differ by an hour, and coordinators move. Whichever node is the coordinator, and whatever its
clock says, an offset is kept for as long as was promised when it was committed. That holds while
most clocks are not ahead, and where the node that stored the offset was not behind.
"""

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.clock import EPOCH_MS
from barnabas.sim.workloads.member import MOVED
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

_QUIET_MS = 120_000
"""Much longer than a run, and much shorter than an hour."""
SETTINGS = {
    "offsets.retention.minutes": str(_QUIET_MS // 60_000),
    "offsets.retention.check.interval.ms": "200",
    "producer.id.expiration.ms": str(_QUIET_MS),
    "transactional.id.expiration.ms": str(_QUIET_MS),
}
"""Of the nodes."""
_RETENTION_MS = 2_500
_GIVEN_UP_MS = 6_000
"""When the offset has not expired by then, as where the coordinator's clock is behind."""
_CLOSE_MS = 1_500
"""Clocks that run fast or slow are apart by less, within a run."""
_BEHIND_MS = 100
"""So much is allowed for by the next:"""
_FASTEST = 1.05
"""No clock is faster."""
_WITH_RETENTION = 2
"""The version of OffsetCommit in which clients say how long an offset is kept,"""
_FETCH_ONE_GROUP = 7
_GROUPS = 3
_NOTHING = -1


class ExpiryWorkload:
    def __init__(self, cluster: Cluster, places: list[Place]) -> None:
        self._cluster = cluster
        self._places = places
        cluster.history.are_groups_deleted = True

    def begin(self) -> None:
        client = self._cluster.client("expiring")
        for number in range(_GROUPS):
            client.run(self._commit_and_wait(client, f"expiring-{number}"))
        client.run(self._commit_once(client, "quiet"))

    async def _commit_and_wait(self, client: Client, name: str) -> None:
        """One group after the other, each of which commits once and ends."""
        number = 0
        while not client.is_stopping:
            number += 1
            group = f"{name}.{number}"
            place = client.random.choice(self._places)
            kept = await self._committed(client, group, place, number, _RETENTION_MS)
            if kept is not None:
                await self._look(client, kept, _GIVEN_UP_MS)
            await client.pause(0, 300)

    async def _commit_once(self, client: Client, group: str) -> None:
        kept = None
        while kept is None and not client.is_stopping:
            kept = await self._committed(client, group, self._places[0], 1, None)
        if kept is not None:
            await self._look(client, kept, _QUIET_MS)

    async def _committed(
        self, client: Client, group: str, place: Place, offset: int, retention_ms: int | None
    ) -> "_Kept | None":
        """None if it is not known whether the offset is committed."""
        partition = OffsetCommitRequestPartition(place.partition, offset)
        request = OffsetCommitRequest(
            group,
            retention_time_ms=-1 if retention_ms is None else retention_ms,
            topics=[OffsetCommitRequestTopic(place.topic, partitions=[partition])],
        )
        began_us = client.simulator.now_us
        try:
            host = await client.coordinator(group)
            answer = await client.call(host, request, lane=group, max_version=_WITH_RETENTION)
            _check(answer.topics[0].partitions[0].error_code, f"a commit of {group}")
        except TryAgain as error:
            client.simulator.remark("%s: %s", group, error)
            await client.pause(20, 200)
            return None
        if self._lead_ms(host) < -_BEHIND_MS:
            return None  # it has stored the offset as older than it is
        kept_ms = int((retention_ms or _QUIET_MS) / _FASTEST)
        return _Kept(group, place, offset, began_us, began_us + kept_ms * 1000)

    async def _look(self, client: Client, kept: "_Kept", most_ms: int) -> None:
        """Read the offset until it has expired."""
        simulator = client.simulator
        while not client.is_stopping and simulator.now_us < kept.began_us + most_ms * 1000:
            await client.pause(50, 400)
            try:
                offset = await self._read(client, kept)
            except TryAgain as error:
                simulator.remark("%s: %s", kept.group, error)
                continue
            if self._are_most_ahead():
                return
            if offset == _NOTHING and simulator.now_us >= kept.until_us:
                simulator.reach("committed offset: expired")
                return
            if offset != kept.offset:
                raise Violation(
                    f"{kept.group} has committed {kept.offset} of {kept.place}, which is kept "
                    f"until {kept.until_us / 1e6:.3f} at least, and now it has {offset}"
                )

    def _are_most_ahead(self) -> bool:
        """Then the nodes that are up may take a wrong clock for right."""
        hosts = [machine.host for machine in self._cluster.machines.values()]
        return 2 * sum(self._lead_ms(host) > _CLOSE_MS for host in hosts) >= len(hosts)

    def _lead_ms(self, host: str) -> int:
        """How far a node's clock is ahead: that of its process, or of the next one."""
        machine = next(each for each in self._cluster.machines.values() if each.host == host)
        leads_ms = [machine.clock_skew_ms]
        if machine.server is not None and machine.is_ready:
            true_ms = EPOCH_MS + self._cluster.simulator.now_us // 1000
            leads_ms.append(machine.server.node.clock.steady_ms() - true_ms)
        return max(leads_ms, key=abs)

    async def _read(self, client: Client, kept: "_Kept") -> int:
        topics = [OffsetFetchRequestTopic(kept.place.topic, [kept.place.partition])]
        request = OffsetFetchRequest(kept.group, topics, require_stable=True)
        host = await client.coordinator(kept.group)
        answer = await client.call(host, request, lane=kept.group, max_version=_FETCH_ONE_GROUP)
        _check(answer.error_code, f"the committed offset of {kept.group}")
        partition = answer.topics[0].partitions[0]
        _check(partition.error_code, f"the committed offset of {kept.group}")
        return int(partition.committed_offset)


class _Kept:
    """A committed offset."""

    def __init__(self, group: str, place: Place, offset: int, began_us: int, until_us: int) -> None:
        self.group = group
        self.place = place
        self.offset = offset
        self.began_us = began_us
        """It was committed after that,"""
        self.until_us = until_us
        """and must be there until then."""


def _check(error_code: int, what: str) -> None:
    code = ErrorCode(error_code)
    if code in MOVED:
        raise TryAgain(f"{what}: {code.name}")
    if code is not ErrorCode.NONE:
        raise Violation(f"{code.name} for {what}")
