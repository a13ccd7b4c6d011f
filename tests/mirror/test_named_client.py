"""What a mirror says goes wrong names the cluster: it has two."""

import asyncio

import pytest

import barnabas
from barnabas.errors import BrokerUnreachable
from barnabas.mirror.copy_report import CopyReport
from barnabas.mirror.flow import ClusterEnd, Flow
from tests.mirror.copies import make_topic, records_of
from tests.mirror.running_flow import RunningFlow
from tests.support.wait import wait_until

TOPIC = "orders"


class Problems:
    """All that are reported."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def on_report(self, report: CopyReport) -> None:
        self.found += report.problems


@pytest.mark.parametrize("down", ["east", "west"])
def test_problems_of_a_flow_name_the_cluster_that_is_down(
    down: str, caplog: pytest.LogCaptureFixture
) -> None:
    problems, up = Problems(), {"east": "west", "west": "east"}[down]
    with barnabas.Cluster() as a, barnabas.Cluster() as b:
        clusters = {"east": a, "west": b}
        ends = {name: ClusterEnd(name, each.bootstrap_servers) for name, each in clusters.items()}
        flow = Flow(ends["east"], ends["west"])
        make_topic(flow.source, TOPIC)
        make_topic(flow.target, f"east.{TOPIC}")

        def send(number: int) -> None:
            with barnabas.Producer(a.bootstrap_servers) as producer:
                producer.send(TOPIC, b"%d" % number)

        with RunningFlow(flow, {TOPIC: 1}, listeners=[problems]):
            send(1)
            wait_until(lambda: len(records_of(flow.target, f"east.{TOPIC}")) == 1)
            if down == "west":
                b.kill(1)
                send(2)
            else:
                a.kill(1)
            wait_until(lambda: len(problems.found) > 1, lambda: str(problems.found))
            wait_until(lambda: "still trying" in caplog.text, lambda: caplog.text)
    said = [*problems.found, *(each for each in caplog.messages if "trying" in each)]
    assert [
        each for each in said if f"cluster {down}: " not in each and f"of {down}" not in each
    ] == []
    assert [each for each in said if f"cluster {up}: " in each or f"of {up}:" in each] == []


def test_an_error_names_its_cluster_once() -> None:
    async def ask() -> None:
        async with ClusterEnd("west", "127.0.0.1:1").client():
            pass

    with pytest.raises(BrokerUnreachable, match=r"^cluster west: (?!.*cluster west)"):
        asyncio.run(ask())
