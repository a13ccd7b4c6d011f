"""A range is read from the follower on the reader's rack, and from the leader if that fails."""

import asyncio
from pathlib import Path

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer import broker_fetcher, range_reader
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.range_reader import RecordRange
from barnabas.client.consumer.range_tables import RangeTables
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

PLACE = TopicPartition("numbers", 0)
SMALL = FetchTuning(max_wait_ms=100, partition_max_bytes=1)  # one batch for each fetch


def filled(processes: ClusterProcesses) -> tuple[int, int]:
    """Ten records, each in a batch of its own; returns the leader and a follower."""
    processes.create_topic(PLACE.topic)
    leader = processes.leader_of(PLACE.topic).node_id
    with barnabas.Producer(processes.bootstrap) as producer:
        for number in range(10):
            producer.send(PLACE.topic, b"%d" % number)
            producer.flush()
    processes.wait_until_in_sync()
    return leader, next(each for each in processes.nodes if each != leader)


def test_a_follower_on_the_rack_is_read_from_and_its_death_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    fetch = range_reader.fetch

    async def noted(cluster: ClusterClient, node_id: int, *rest: object) -> object:
        asked.append(node_id)
        return await fetch(cluster, node_id, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(range_reader, "fetch", noted)
    processes = ClusterProcesses(tmp_path, nodes=3)
    for node in processes.nodes.values():
        node.settings["broker.rack"] = f"rack-{node.node_id}"
    with processes:
        leader, follower = filled(processes)

        async def read() -> list[bytes]:
            values: list[bytes] = []
            async with ClusterClient(processes.bootstrap) as cluster:
                reader = RangeTables(
                    cluster,
                    [RecordRange(PLACE, 0, 10)],
                    ["value"],
                    tuning=SMALL,
                    rack=f"rack-{follower}",
                )
                while fetched := await reader.fetch():
                    for table in reader.tables(fetched):
                        values += table.column("value").to_pylist()
                    if len(asked) == 4:
                        processes[follower].kill()
                for table in reader.rest():
                    values += table.column("value").to_pylist()
            return values

        assert asyncio.run(read()) == [b"%d" % number for number in range(10)]
        assert asked[:4] == [leader, follower, follower, follower]
        assert set(asked[-6:]) == {leader}


def test_a_consumer_reads_from_its_rack_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[tuple[int, int]] = []
    fetch = broker_fetcher.fetch

    async def noted(cluster: ClusterClient, node_id: int, *rest: object) -> object:
        answers = await fetch(cluster, node_id, *rest)  # type: ignore[arg-type]
        answered.extend((node_id, len(data.records or b"")) for _, data in answers)
        return answers

    monkeypatch.setattr(broker_fetcher, "fetch", noted)
    processes = ClusterProcesses(tmp_path, nodes=3)
    for node in processes.nodes.values():
        node.settings["broker.rack"] = f"rack-{node.node_id}"
    with processes:
        _, follower = filled(processes)
        with (
            barnabas.Consumer(
                processes.bootstrap,
                PLACE.topic,
                group="near",
                group_protocol="consumer",
                client_rack=f"rack-{follower}",
                partition_max_bytes=1,
                max_wait_ms=100,
            ) as consumer,
            barnabas.Producer(processes.bootstrap) as producer,
            barnabas.Admin(processes.bootstrap) as admin,
        ):
            got: list[bytes] = []

            def has(count: int) -> bool:
                got.extend(each.value for each in consumer.poll(1))
                return len(got) >= count

            wait_until(lambda: has(10), "not everything is read")
            assert {node_id for node_id, size in answered if size} == {follower}
            (member,) = admin.describe_group("near").members
            assert member.rack == f"rack-{follower}"
            processes[follower].kill()
            producer.send(PLACE.topic, b"10").result()
            wait_until(lambda: has(11), "the leader is not read from")
            assert got == [b"%d" % number for number in range(11)]
            assert [node_id for node_id, size in answered if size][-1] != follower
