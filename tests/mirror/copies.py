"""Copies for a moment, and what is there afterwards."""

import asyncio

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.completed_fetch import CompletedFetch, FetchState, visible_batches
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.consumer.range_reader import RangeReader, RecordRange
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.mirror.assigned_copies import AssignedCopies
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import ClusterEnd, Flow, Start
from barnabas.mirror.names import remote_topic
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.records.decode import decode_messages
from barnabas.records.message import Message

COPY_S = 0.5
Copied = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def copy(
    flow: Flow,
    topic: str,
    partitions: int = 1,
    *,
    start: Start = "earliest",
    until_idle: bool = True,
) -> CopyReport:
    """Copy for a moment, and more often until nothing is left to copy."""
    copied = [
        CopiedPartition(
            TopicPartition(topic, index),
            TopicPartition(remote_topic(flow, topic), index),
            start,
            commits_position=True,
        )
        for index in range(partitions)
    ]

    async def run() -> CopyReport:
        whole = CopyReport()
        async with flow.source.client() as source, flow.target.client() as target:
            for _ in range(60):
                copies = AssignedCopies(source, target, flow, copied)
                asyncio.get_running_loop().call_later(COPY_S, copies.end)
                _add(whole, await copies.run(lambda report: _add(whole, report)))
                if not until_idle or (whole.states and all(s.lag == 0 for s in whole.states)):
                    return whole
        raise AssertionError(whole)

    return asyncio.run(run())


def _add(whole: CopyReport, report: CopyReport) -> None:
    whole.recovered += report.recovered
    whole.syncs += report.syncs
    whole.states = report.states
    whole.problems += report.problems
    whole.records += report.records
    whole.bytes += report.bytes


def make_topic(end: ClusterEnd, topic: str, partitions: int = 1, **configs: str) -> None:
    with barnabas.Admin(end.bootstrap_servers) as admin:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        admin.create_topic(topic, partitions=partitions, configs=named)


def records_of(end: ClusterEnd, topic: str) -> list[Copied]:
    """Partition, timestamp, key, value and headers of all committed records, in order."""

    async def read() -> list[Message]:
        async with end.client() as cluster:
            found = (await cluster.topics([topic]))[topic]
            names = [TopicPartition(topic, each.partition) for each in found.partitions]
            bounds = await beginning_and_end(cluster, names, IsolationLevel.READ_COMMITTED)
            reader = RangeReader(cluster, [RecordRange(name, *bounds[name]) for name in names])
            messages = []
            while fetched := await reader.fetch():
                for each in fetched:
                    data = CompletedFetch(
                        FetchState(each.range.partition, PartitionProgress(0)),
                        0,
                        each.start,
                        each.range.end,
                        each.data,
                        each.aborted,
                        each.range.end,
                    )
                    for _, batch in visible_batches(data):
                        messages += decode_messages(batch, *each.range.partition)
            return messages

    messages = sorted(asyncio.run(read()), key=lambda each: (each.partition, each.offset))
    return [
        (each.partition, each.timestamp_ms, each.key, each.value, tuple(each.headers))
        for each in messages
    ]
