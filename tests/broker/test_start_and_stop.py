"""How a broker starts, refuses to start, stops, and comes back."""

import asyncio
import re
import resource
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from barnabas.broker.environment import Environment
from barnabas.broker.server import Server
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    asked,
    create_topic,
    fetch_one,
    fetch_request,
    find_coordinator,
    produce,
    produce_request,
    produced,
    stored,
)
from tests.support import fork_server
from tests.support.broker import BrokerProcess
from tests.support.metrics import scrape
from tests.support.wait import LIMIT_S, wait_until

MakeBroker = Callable[..., BrokerProcess]


def start(*settings: str) -> tuple[int, str]:
    """Start a broker that should end by itself: its exit code and what it said.

    Without metrics, whose address a node says before it reads its data.
    """
    command = [sys.executable, "-m", "barnabas", "server"]
    for setting in ("metrics.listeners=", *settings):
        command += ["--set", setting]
    ended = fork_server.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.stdout == ""
    return ended.returncode, ended.stderr


# -- refusing to start -----------------------------------------------------------------------------


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = start(f"listeners=127.0.0.1:{port}", f"log.dirs={tmp_path}")
    assert code == 2
    assert len(said.splitlines()) == 1
    assert f"127.0.0.1:{port}" in said
    assert "in use" in said


def test_a_data_directory_in_use(make_broker: MakeBroker) -> None:
    broker = make_broker()
    code, said = start("listeners=127.0.0.1:0", f"log.dirs={broker.data}")
    assert code == 2
    assert len(said.splitlines()) == 1
    assert str(broker.data) in said
    assert str(broker.pid) in said


def test_damaged_metadata(make_broker: MakeBroker) -> None:
    """It was closed well, so only reading it shows the damage. Nothing of the data is touched."""
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        produced(client, "t", batch(b"a"))
    broker.stop()
    (log,) = (broker.data / "__cluster_metadata-0").glob("*.log")
    content = bytearray(log.read_bytes())
    content[-1] ^= 0xFF
    log.write_bytes(content)
    code, said = start("listeners=127.0.0.1:0", f"log.dirs={broker.data}")
    assert (code, len(said.splitlines())) == (2, 1)
    assert "__cluster_metadata-0" in said
    assert "CRC" in said
    assert (broker.data / "t-0").is_dir()


def test_metadata_damaged_in_the_middle_after_an_unclean_stop(make_broker: MakeBroker) -> None:
    """The state does not cover it, but what follows the damage is not a torn tail."""
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        create_topic(client, "u")
    broker.stop()
    metadata = broker.data / "__cluster_metadata-0"
    (metadata / "log.state").unlink()
    (log,) = metadata.glob("*.log")
    content = bytearray(log.read_bytes())
    content[70] ^= 0xFF
    log.write_bytes(content)
    before = {path: path.read_bytes() for path in broker.data.rglob("*.*") if path.is_file()}
    code, said = start("listeners=127.0.0.1:0", f"log.dirs={broker.data}")
    assert (code, len(said.splitlines())) == (2, 1)
    assert f"{log} is damaged at position 0" in said
    assert "backup" in said
    del before[broker.data / ".lock"]
    assert {path: path.read_bytes() for path in before} == before
    assert (broker.data / "t-0").is_dir()


def test_damaged_offsets(make_broker: MakeBroker) -> None:
    """Groups whose offsets can't be read are refused, loudly; all others are served."""
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        topic = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 7)])
        find_coordinator(client, "g")
        response = client.ask(OffsetCommitRequest("g", topics=[topic]), 9)
        assert response.topics[0].partitions[0].error_code == 0
    broker.stop()
    (log,) = (path for path in broker.data.glob("__consumer_offsets-*/*.log"))
    content = bytearray(log.read_bytes())
    content[-1] ^= 0xFF
    log.write_bytes(content)
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        find_coordinator(client, "another group")
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g")])
        (answer,) = client.ask(request, 9).groups
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert client.ask(ListGroupsRequest()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    said = broker.log.read_text()
    assert re.search(f"CRITICAL.*{log.parent.name} is damaged", said)
    assert "backup" in said
    assert "Traceback" not in said


def test_another_nodes_data(make_broker: MakeBroker) -> None:
    broker = make_broker()
    broker.stop()
    code, said = start("node.id=2", "listeners=127.0.0.1:0", f"log.dirs={broker.data}")
    assert (code, len(said.splitlines())) == (2, 1)
    assert "node 1" in said


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("num.partition", "3", "num.partitions"),
        ("num.partitions", "many", "num.partitions"),
        ("num.partitions", "0", "at least 1"),
        ("listeners", "localhost", "HOST:PORT"),
        ("listeners", "localhost:\N{SUPERSCRIPT TWO}", "HOST:PORT"),
        ("listeners", "SSL://localhost:0", "a TLS listener needs a certificate"),
        ("listeners", "192.0.2.1:0", "192.0.2.1"),
        ("listeners", "no.such.host.invalid:0", "no.such.host.invalid"),
        ("advertised.listeners", "broker", "HOST:PORT"),
        ("log.dirs", "/dev/null/data", "/dev/null/data"),
        ("log.dirs", "a,b", "one directory"),
    ],
)
def test_bad_settings(tmp_path: Path, name: str, value: str, hint: str) -> None:
    """Each is said in one line that helps."""

    async def serve() -> None:
        settings = {"listeners": "127.0.0.1:0", "log.dirs": f"{tmp_path}/data", name: value}
        environment = Environment.real(asyncio.get_running_loop())
        await Server(BrokerConfig(settings), environment, pytest.fail).start()

    with pytest.raises(ConfigError) as refused:
        asyncio.run(serve())
    assert hint in str(refused.value)
    assert "\n" not in str(refused.value)


# -- addresses -------------------------------------------------------------------------------------


def told(host: str, port: int) -> list[tuple[str, int]]:
    """The addresses that the broker at `host` tells its clients."""
    with RawClient(host, port) as client:
        (broker,) = client.ask(MetadataRequest([])).brokers
        (described,) = client.ask(DescribeClusterRequest()).brokers
        (found,) = client.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators
    return [(one.host, one.port) for one in (broker, described, found)]


def test_a_wildcard_tells_the_address_that_the_client_used(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path)
    broker.real = True
    broker.host = "0.0.0.0"
    with broker:
        assert told("127.0.0.1", broker.port) == [("127.0.0.1", broker.port)] * 3
        assert told("127.0.0.2", broker.port) == [("127.0.0.2", broker.port)] * 3


def test_a_name_is_told_as_it_is(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path)
    broker.host = "PLAINTEXT://localhost"
    with broker:
        assert told("127.0.0.1", broker.port) == [("localhost", broker.port)] * 3


def test_what_is_advertised_is_told(tmp_path: Path) -> None:
    settings = {"advertised.listeners": "broker.example:19092"}
    with BrokerProcess(tmp_path, settings) as broker:
        assert told("127.0.0.1", broker.port) == [("broker.example", 19092)] * 3


# -- stopping --------------------------------------------------------------------------------------


def test_a_stop_answers_or_ends_everybody_and_needs_no_scan(make_broker: MakeBroker) -> None:
    """Clients wait for records, for a flush and for a group."""
    broker = make_broker(group_initial_rebalance_delay_ms="600000")
    with (
        RawClient(broker.host, broker.port) as client,
        RawClient(broker.host, broker.port) as fetching,
        RawClient(broker.host, broker.port) as producing,
        RawClient(broker.host, broker.port) as joining,
    ):
        create_topic(client, "t")
        create_topic(client, "flushed", flush_messages="100")
        produced(client, "t", batch(b"a"))
        fetching.send(fetch_request(asked("t", {0: 1}), max_wait_ms=600_000), BY_NAME)
        producing.send(produce_request("flushed", batch(b"b"), timeout_ms=600_000), BY_NAME)
        protocol = JoinGroupRequestProtocol("range", b"")
        find_coordinator(client, "g")
        joining.send(
            JoinGroupRequest("g", 600_000, 600_000, protocol_type="consumer", protocols=[protocol]),
            3,
        )
        for waiting in (fetching, producing, joining):
            assert waiting.is_silent(0.1)
        broker.stop()  # which expects exit code 0
        for waiting in (client, fetching, producing):
            assert waiting.is_closed()
        assert joining.receive().error_code == ErrorCode.NOT_COORDINATOR
        assert joining.is_closed()
    said = broker.log.read_text()
    assert not re.search("Traceback|ERROR|WARNING", said), said
    broker.start()
    assert "scanned" not in broker.log.read_text()
    with RawClient(broker.host, broker.port) as client:
        assert stored(client, "t") == [b"a"]
        assert stored(client, "flushed") == [b"b"]


def test_a_full_disk_does_not_stop_the_stop(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        for name in ("t", "u"):
            create_topic(client, name)
            produced(client, name, batch(b"a"))
        process = psutil.Process(broker.pid)
        process.rlimit(resource.RLIMIT_FSIZE, (0, 0))
        assert produce(client, "t", batch(b"lost")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        broker.stop()
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        assert stored(client, "t") == stored(client, "u") == [b"a"]


# -- coming back -----------------------------------------------------------------------------------


def test_a_retry_across_a_kill_is_stored_once(make_broker: MakeBroker) -> None:
    broker = make_broker()

    def numbered(producer_id: int, sequence: int, *values: bytes) -> bytes:
        return batch(*values, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)

    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t", segment_bytes="1024")
        producer_id = client.ask(InitProducerIdRequest(None)).producer_id
        for number in range(20):
            data = numbered(producer_id, number, b"%d" % number * 50)
            assert produced(client, "t", data) == number
    for kill in (True, False, True):
        broker.restart(kill=kill)
        with RawClient(broker.host, broker.port) as client:
            for number in range(15, 20):
                data = numbered(producer_id, number, b"%d" % number * 50)
                assert produced(client, "t", data) == number
            another = client.ask(InitProducerIdRequest(None)).producer_id
            assert another != producer_id
    with RawClient(broker.host, broker.port) as client:
        assert produced(client, "t", numbered(producer_id, 20, b"new")) == 20
        assert len(stored(client, "t")) == 21


def test_a_torn_tail_is_cut_off(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        for value in (b"a", b"b"):
            produced(client, "t", batch(value))
    broker.kill()
    (segment,) = (broker.data / "t-0").glob("*.log")
    with segment.open("ab") as file:
        file.write(batch(b"torn")[:-1])
    broker.start()
    wait_until(lambda: "t-0 was not closed" in broker.log.read_text(), "nothing was scanned")
    with RawClient(broker.host, broker.port) as client:
        assert stored(client, "t") == [b"a", b"b"]
        assert produced(client, "t", batch(b"c")) == 2


@pytest.mark.long
def test_what_a_partition_has_lost_is_said(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        for name in ("directory", "segment", "whole"):
            create_topic(client, name)
            produced(client, name, batch(b"a", b"b"))
        create_topic(client, "unused")
    broker.restart()
    assert "WARNING" not in broker.log.read_text()
    assert scrape(broker).value("barnabas_lost_records") == 0
    broker.stop()
    shutil.rmtree(broker.data / "directory-0")
    (segment,) = (broker.data / "segment-0").glob("*.log")
    size = segment.stat().st_size
    segment.unlink()
    broker.start()
    text = broker.log.read_text()
    (warning,) = [line for line in text.splitlines() if "WARNING" in line]
    assert f"segment-0 has lost {segment.name} (offsets 0 to 1, {size} bytes)" in warning
    assert "directory-0 has lost offsets 0 to 1 (its directory is gone)" in text
    assert "segment-0 has lost offsets 0 to 1 (its end is gone)" in text
    assert scrape(broker).value("barnabas_lost_records") == 4
    with RawClient(broker.host, broker.port) as client:
        assert stored(client, "whole") == [b"a", b"b"]
        for name in ("directory", "segment"):
            answer = fetch_one(client, name, 0)
            assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
            assert produced(client, name, batch(b"c")) == 2, "no offset is given twice"
            assert fetch_one(client, name, 2).error_code == ErrorCode.NONE
    broker.restart()
    with RawClient(broker.host, broker.port) as client:
        assert fetch_one(client, "segment", 1).error_code == ErrorCode.CORRUPT_MESSAGE
    assert broker.log.read_text().count("directory-0 has lost offsets 0 to 1") == 2


def test_a_half_done_delete_is_finished(make_broker: MakeBroker) -> None:
    """Killed between the decision to delete a topic and the deletion, or in the middle of it.

    In the first case the broker can't know that the data is not needed: it is set aside.
    """
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        produced(client, "t", batch(b"a"))
    broker.stop()
    leftovers = [broker.data / "gone-0", broker.data / "gone-1.0-delete"]
    for leftover in leftovers:
        leftover.mkdir()
        for file in (broker.data / "t-0").iterdir():
            (leftover / file.name).write_bytes(file.read_bytes())
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "gone")
        assert stored(client, "gone") == []
        assert stored(client, "t") == [b"a"]
    names = {path.name for path in broker.data.iterdir() if path.name.startswith("gone")}
    assert names == {"gone-0", "gone-0.0-stray"}
    (stray,) = (broker.data / "gone-0.0-stray").glob("*.log")
    (original,) = (broker.data / "t-0").glob("*.log")
    assert stray.read_bytes() == original.read_bytes()


@pytest.mark.long
def test_lost_metadata_does_not_take_the_data_with_it(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        produced(client, "t", batch(b"a"))
    broker.stop()
    (segment,) = (broker.data / "t-0").glob("*.log")
    kept = segment.read_bytes()
    shutil.rmtree(broker.data / "__cluster_metadata-0")
    for _ in range(2):
        broker.start()
        broker.stop()
        (stray,) = broker.data.glob("t-0.*-stray/*.log")
        assert stray.read_bytes() == kept


def test_what_is_not_the_brokers_is_left_alone(tmp_path: Path) -> None:
    """A user may point it at a directory that is not empty."""
    broker = BrokerProcess(tmp_path)
    broker.real = True
    files = [broker.data / "photos-2024" / "sea.jpg", broker.data / "src-1" / "lib" / "x.log"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("precious")
    with broker:
        time.sleep(0.1)
        assert [file.read_text() for file in files] == ["precious"] * 2
