"""A range is read from the follower on the reader's rack, and from the leader if that fails."""

import asyncio
from pathlib import Path

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer import range_reader
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.range_reader import RangeReader, RecordRange
from tests.support.cluster import ClusterProcesses

PLACE = TopicPartition("numbers", 0)
SMALL = FetchTuning(max_wait_ms=100, partition_max_bytes=1)  # one batch for each fetch


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
        processes.create_topic(PLACE.topic)
        leader = processes.leader_of(PLACE.topic).node_id
        follower = next(each for each in processes.nodes if each != leader)
        with barnabas.Producer(processes.bootstrap) as producer:
            for number in range(10):
                producer.send(PLACE.topic, b"%d" % number)
                producer.flush()
        processes.wait_until_in_sync()

        async def read() -> list[bytes]:
            values: list[bytes] = []
            async with ClusterClient(processes.bootstrap) as cluster:
                reader = RangeReader(
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
