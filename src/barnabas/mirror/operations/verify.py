"""Compares both sides of a mirror while data flows.

Of each partition, the source is read up to the flow's position, which says what is copied, and the
target from there on. Records are compared by key, value, headers and timestamp. Offsets differ, and
the headers that mark provenance are left out; where a flow marks it, records of others in the same
topic are left out too.
"""

from collections.abc import Collection
from hashlib import blake2b

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import RangeReader, RecordRange
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import InvalidArgument
from barnabas.mirror.flow import Flow
from barnabas.mirror.names import is_heartbeats, upstream_topic
from barnabas.mirror.operations.comparison import Comparison, DigestedRecord, compare
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.positions import SourcePosition, fetch_positions
from barnabas.records.record import Record

PROVENANCE = "barnabas-mirror-cluster"
_DIGEST_BYTES = 8


async def verify(
    flow: Flow,
    clients: MirrorClients,
    *,
    topics: Collection[str] = (),
    last: int = 1_000_000,
) -> list[Comparison]:
    """Compare the last records of each partition, of all topics if none are named.

    Raises `InvalidArgument` if there is nothing to compare: that is not equality.
    """
    source = clients.required_source()
    found: list[Comparison] = []
    for there, position in sorted((await fetch_positions(clients.target, flow)).items()):
        topic = upstream_topic(flow, there.topic)
        if topic is not None and (not topics or topic in topics):
            here = TopicPartition(topic, there.partition)
            found.append(await _verify(flow, clients.target, source, here, there, position, last))
    compared = {each.topic for each in found}
    missing = sorted(set(topics) - compared)
    if missing or all(is_heartbeats(flow, each) for each in compared):
        what = f"of topic {missing[0]}" if missing else "yet"
        raise InvalidArgument(
            f"the flow from {flow.source.name} to {flow.target.name} has copied nothing {what}: "
            "give the names of clusters, and --names, as to `mirror run`, and wait until it copies"
        )
    return found


async def _verify(
    flow: Flow,
    target: ClusterClient,
    source: ClusterClient,
    here: TopicPartition,
    there: TopicPartition,
    position: SourcePosition,
    last: int,
) -> Comparison:
    first, _ = (await beginning_and_end(source, [here]))[here]
    start = max(first, position.offset - last)
    records = await _read(source, RecordRange(here, start, position.offset))
    bounds = await beginning_and_end(target, [there], IsolationLevel.READ_COMMITTED)
    beginning, end = bounds[there]
    passed = flow.source.name.encode() if flow.provenance else None
    copies = await _read(target, RecordRange(there, beginning, end), passed)
    away = flow.target.name.encode() if flow.provenance else None
    return compare(
        here.topic,
        here.partition,
        [each for each, marks in records if away is None or away not in marks],
        [each for each, _ in copies],
        is_cut=beginning > 0,
    )


async def _read(
    cluster: ClusterClient, wanted: RecordRange, passed: bytes | None = None
) -> list[tuple[DigestedRecord, list[bytes]]]:
    """Digests, and the clusters that each record has passed; of those that came by way of one."""
    reading = RangeReader(
        cluster,
        [wanted],
        on_loss=lambda _: None,  # retention may overtake the reading; what is gone is not compared
    )
    found = []
    while fetched := await reading.fetch():
        for _, record in reading.records(fetched):
            marks = [value or b"" for name, value in record.headers if name == PROVENANCE]
            if passed is None or marks[-1:] == [passed]:
                found.append((DigestedRecord(record.offset, _digest(record)), marks))
    return found


def _digest(record: Record) -> bytes:
    headers = [each for each in record.headers if each[0] != PROVENANCE]
    content = repr((record.timestamp, record.key, record.value, headers)).encode()
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
