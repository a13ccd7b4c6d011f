"""Tasks report to the driver while they copy, and hear when their round is over; without Spark."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

import barnabas
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError
from barnabas.mirror.copy_round import CopyRound
from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.groups.stop_request import MirrorStopped
from barnabas.mirror.partition_copy import CopiedPartition
from barnabas.mirror.round_report import PROBLEM, SYNC, ReportRow, RoundReport, report_of
from barnabas.spark.mirror import report_channel
from barnabas.spark.mirror.report_channel import ReportChannel, TaskReports, report_plan
from tests.mirror.copies import make_topic

AWAY = ReportRow(PROBLEM, message="a broker is away")
COPIED = ReportRow(SYNC, "orders", "A.orders", 0, upstream=7, downstream=9, records=3, bytes=300)


class Heard:
    """A listener that may be told to stop the flow."""

    def __init__(self) -> None:
        self.reports: list[RoundReport] = []
        self.is_stopped = False

    def on_report(self, report: RoundReport) -> None:
        self.reports.append(report)
        if self.is_stopped:
            raise MirrorStopped("flow A->B was stopped")


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def channel(heard: Heard) -> Iterator[ReportChannel]:
    opened = ReportChannel([heard], "127.0.0.1")
    yield opened
    opened.close()


def send(
    channel: ReportChannel,
    *rows: ReportRow,
    number: int = 1,
    task: int = 0,
    tasks: int = 2,
    ends: bool = False,
) -> bool:
    """Whether the round goes on."""

    async def report() -> bool:
        async with TaskReports(channel.address, number, task, tasks) as reports:
            return await reports.send(rows, ends=ends)

    return asyncio.run(report())


def test_problems_last_until_their_task_reports_again(channel: ReportChannel, heard: Heard) -> None:
    assert send(channel, COPIED, AWAY)
    (sync,) = heard.reports[-1].syncs
    assert (sync.upstream, sync.downstream, heard.reports[-1].bytes) == (7, 9, 300)
    assert send(channel, task=1)
    report_plan(channel.address, 2, ["topic T is too small"], ends=False)
    assert heard.reports[-1].problems == [AWAY.message, "topic T is too small"]
    assert send(channel, number=2, tasks=1)
    assert heard.reports[-1].problems == ["topic T is too small"]


def test_a_round_ends_for_all_of_its_tasks(channel: ReportChannel) -> None:
    assert send(channel, task=1)
    assert not send(channel, ends=True)
    assert not send(channel, task=1)
    assert send(channel, number=2, task=1)
    assert not send(channel, number=1)
    report_plan(channel.address, 2, [], ends=True)
    assert not send(channel, number=2)


def test_a_round_ends_if_not_all_of_its_tasks_start(
    channel: ReportChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert send(channel)
    monkeypatch.setattr(report_channel, "START_S", -1.0)
    assert not send(channel)
    assert send(channel, number=2, tasks=1)


def test_a_stopped_flow_ends_its_round_and_fails(channel: ReportChannel, heard: Heard) -> None:
    channel.check()
    heard.is_stopped = True
    assert not send(channel)
    with pytest.raises(MirrorStopped):
        channel.check()


def test_strangers_are_not_heard_and_a_driver_that_is_gone_is_named(
    channel: ReportChannel, heard: Heard
) -> None:
    with pytest.raises(BarnabasError, match="does not answer"):
        asyncio.run(_report_as_stranger(channel))
    assert heard.reports == []
    channel.close()
    with pytest.raises(BarnabasError, match=f"at 127.0.0.1:{channel.address.port}"):
        send(channel)
    with pytest.raises(BarnabasError, match="copying stops until it is started again"):
        report_plan(channel.address, 1, [], ends=True)


async def _report_as_stranger(channel: ReportChannel) -> None:
    async with TaskReports(channel.address._replace(token="guessed"), 1, 0, 1) as reports:
        await reports.send([COPIED])


@pytest.mark.parametrize("sent", [b"x" * 1_000_000, b"{}\n", b"\xff\xfe\n", b"\n"])
def test_no_more_than_a_short_line_is_read_before_the_token(
    channel: ReportChannel, heard: Heard, sent: bytes
) -> None:
    with socket.create_connection(channel.address[:2], 60) as stranger:
        with suppress(ConnectionError):
            stranger.sendall(sent)
        assert _is_closed(stranger)
    assert send(channel, COPIED)
    assert len(heard.reports) == 1


@pytest.mark.parametrize("sent", [b"no JSON\n", b"[]\n", b"{}\n", b'{"round": "x"}\n', b"\xff\n"])
def test_garbage_is_logged_in_one_line(
    channel: ReportChannel,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    sent: bytes,
) -> None:
    with socket.create_connection(channel.address[:2], 60) as task:
        task.sendall(channel.address.token.encode() + b"\n" + sent)
        assert _is_closed(task)
    (line,) = [each for each in caplog.messages if "can't be read" in each]
    assert "\n" not in line
    assert "Traceback" not in capsys.readouterr().err
    assert send(channel, COPIED)


def test_a_connection_that_sends_nothing_is_closed(
    heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_channel, "_TOKEN_S", 0.1)
    opened = ReportChannel([heard], "127.0.0.1")
    with socket.create_connection(opened.address[:2], 60) as stranger:
        assert _is_closed(stranger)
    opened.close()
    opened.close()  # again, as when a flow is stopped and its command ends


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_round_reports_while_it_copies(ends: tuple[ClusterEnd, ClusterEnd], topic: str) -> None:
    a, b = ends
    for each in ends:
        make_topic(each, topic)
    flow = Flow(a, b, names=Names.IDENTITY)
    there = TopicPartition(topic, 0)
    copied: list[int] = []

    def produce() -> None:
        with barnabas.Producer(a.bootstrap_servers) as producer:
            producer.send(topic, b"x")

    async def hear(rows: list[ReportRow]) -> bool:
        copied.append(report_of(rows).records)
        if sum(copied) < 3:
            await asyncio.to_thread(produce)
        return sum(copied) < 3

    async def run() -> list[ReportRow]:
        async with flow.source.client() as source, flow.target.client() as target:
            work = CopyRound(source, target, flow, [CopiedPartition(there, there)])
            return await work.run(3600.0, hear)

    last = report_of(asyncio.run(run()))
    assert sum(copied) == 3
    assert len([each for each in copied if each]) > 1  # not all at once
    assert (last.records, [each.position for each in last.states]) == (0, [3])
