"""A mirror as a connector of the service, on two real brokers: its life, its offsets, its takeover.

Every record is in the target once and in order, although the service is killed in between.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.mirror.flow import ClusterEnd
from tests.connect.service import Service, drivers_in
from tests.mirror.copies import records_of
from tests.support import fork_server
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.drivers,
    pytest.mark.timeout(900),
]


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[tuple[str, str]]:
    with (
        BrokerProcess(tmp_path / "a") as one,
        BrokerProcess(tmp_path / "b") as other,
    ):
        yield one.bootstrap, other.bootstrap


def produce(bootstrap: str, numbers: range) -> None:
    with barnabas.Producer(bootstrap, transactional_id="writer") as producer:
        for start in range(numbers.start, numbers.stop, 50):
            with producer.transaction():
                for each in range(start, min(start + 50, numbers.stop)):
                    producer.send("orders", b"%d" % each, partition=each % 2)


def values(bootstrap: str, topic: str) -> list[list[int]]:
    """What is in both partitions, as readers of committed records see it."""
    with barnabas.Admin(bootstrap) as admin:
        if topic not in admin.topics():
            return [[], []]
    found = records_of(ClusterEnd("any", bootstrap), topic)
    return [[int(v or b"") for p, _, _, v, _ in found if p == at] for at in range(2)]


def expected(count: int) -> list[list[int]]:
    return [list(range(at, count, 2)) for at in range(2)]


def _leads(service: Service) -> bool:
    found = service.get("/connectors/m/status")
    return found["connector"]["worker_id"] in service.url and bool(found["tasks"])


def _states(service: Service) -> list[str]:
    """Of the two processes that share the partitions."""
    return [each["state"] for each in service.get("/connectors/m/status")["tasks"]]


def _positions(service: Service) -> list[dict[str, dict[str, Any]]]:
    """Of the orders: heartbeats are mirrored too."""
    shown = service.get("/connectors/m/offsets")["offsets"]
    return [each for each in shown if each["partition"]["topic"] == "orders"]


def test_a_mirror_runs_as_a_connector(brokers: tuple[str, str], tmp_path: Path) -> None:
    a, b = brokers
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "A",
        "source.cluster.bootstrap.servers": a,
        "target.cluster.alias": "B",
        "target.cluster.bootstrap.servers": b,
        "topics": "orders",
        "groups": "billing",
        "sync.group.offsets.enabled": "true",
        "refresh.topics.interval.seconds": "1",
        "round.seconds": "1",
        "tasks.max": "2",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
    with barnabas.Admin(a) as admin:
        admin.create_topic("orders", partitions=2)
    produce(a, range(400))

    def copied(count: int) -> None:
        wait_until(lambda: sum(map(len, values(b, "A.orders"))) >= count, service.said)
        assert values(b, "A.orders") == expected(count)

    service = Service(tmp_path, "first", b)
    try:
        service.wait_until_ready()
        refused = service.call(
            "POST", "/connectors", {"name": "m", "config": {**config, "offset.lag.max": 1}}
        )
        assert refused.status == 400
        assert "offset.lag.max would be ignored" in refused.body["message"]
        made = service.call("POST", "/connectors", {"name": "m", "config": config})
        assert made.status == 201, made
        assert made.body["type"] == "source"
        copied(400)
        service.wait_for_state("m", "RUNNING")
        wait_until(lambda: _states(service) == ["RUNNING", "RUNNING"], service.said)
        with barnabas.Consumer(a, "orders", group="billing", session_timeout_ms=30_000) as reader:
            read: list[object] = []
            wait_until(lambda: read.extend(reader.poll(0.5)) or len(read) == 400)

        with barnabas.Admin(b) as admin:

            def is_there() -> bool:
                offsets = admin.group_offsets("billing")
                ends = admin.offsets("A.orders", isolation="read_committed")
                return {str(each) for each in offsets} == {"A.orders-0", "A.orders-1"} and all(
                    0 < offsets[each] <= end for each, end in ends.items()
                )

            wait_until(is_there, service.said)

        # While it is paused and while it is stopped nothing is copied, and then everything is.
        assert service.call("PUT", "/connectors/m/pause").status == 202
        service.wait_for_state("m", "PAUSED")
        before = values(b, "A.orders")
        produce(a, range(400, 600))
        assert values(b, "A.orders") == before
        assert service.call("PUT", "/connectors/m/resume").status == 202
        copied(600)
        assert service.call("POST", "/connectors/m/restart").status in (200, 202, 204)
        produce(a, range(600, 700))
        copied(700)

        standby = Service(tmp_path, "second", b)
        try:
            standby.wait_until_ready()
            service.kill()
            produce(a, range(700, 1000))
            service = standby
            copied(1000)
            wait_until(lambda: len(drivers_in(tmp_path)) == 1, "a driver outlived its service")
            # Its driver may have copied everything before it noticed: wait for the other one.
            wait_until(lambda: _leads(standby), standby.said)
            standby.wait_for_state("m", "RUNNING")

            # Positions: those of the target, which can be changed while it does not run.
            where = [{"cluster": "A", "topic": "orders", "partition": at} for at in range(2)]
            assert [each["partition"] for each in _positions(standby)] == where
            assert standby.call("DELETE", "/connectors/m/offsets").status == 400  # it runs
            assert standby.call("PUT", "/connectors/m/stop").status == 202
            standby.wait_for_state("m", "STOPPED")
            last = [each["offset"]["offset"] for each in _positions(standby)]
            for wrong in ({"offsets": []}, {"offsets": [{"partition": {"cluster": "X"}}]}):
                assert standby.call("PATCH", "/connectors/m/offsets", wrong).status == 400
            # The last marker and the last record of partition 0 come again.
            again = {"offsets": [{"partition": where[0], "offset": {"offset": last[0] - 2}}]}
            altered = standby.call("PATCH", "/connectors/m/offsets", again)
            assert altered.status == 200, altered
            assert standby.call("PUT", "/connectors/m/resume").status == 202
            wanted = [[*expected(1000)[0], 998], expected(1000)[1]]
            wait_until(lambda: values(b, "A.orders") == wanted, standby.said)

            # `mirror failover` stops the flow, and the service does not start it again by itself.
            ends = ("--from", f"A={a}", "--to", f"B={b}")
            command = [sys.executable, "-m", "barnabas", "mirror", "failover", *ends]
            done = fork_server.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done
            standby.wait_for_task("m", "was stopped from outside")
            assert standby.call("POST", "/connectors/m/restart?includeTasks=true").status in (
                200,
                202,
                204,
            )
            standby.wait_for_state("m", "RUNNING")
            assert standby.call("PUT", "/connectors/m/stop").status == 202
            standby.wait_for_state("m", "STOPPED")
            assert standby.call("DELETE", "/connectors/m/offsets").status == 200
            assert standby.get("/connectors/m/offsets") == {"offsets": []}
            assert standby.call("DELETE", "/connectors/m").status == 204
        finally:
            standby.close()
    finally:
        service.close()
