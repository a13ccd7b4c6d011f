"""The log of a real node: as JSON, into a file that is rotated, with levels that change."""

import json
import re
import shutil
from pathlib import Path

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.broker.raw_client import RawClient
from tests.broker.verbs import APPEND, DELETE, SET, alter, create_topic
from tests.conftest import MakeBroker
from tests.support.broker import BrokerProcess

LOGGER = 8
BROKER_1 = (LOGGER, "1")
NET = "barnabas.broker.net"


def levels(client: RawClient) -> dict[str, str]:
    asked = DescribeConfigsResource(*BROKER_1, None)
    (result,) = client.ask(DescribeConfigsRequest([asked])).results
    return {config.name: config.value for config in result.configs}


def test_a_level_changes_and_loggers_below_follow(client: RawClient) -> None:
    below = f"{NET}.dispatcher"
    assert alter(client, BROKER_1, ("barnabas.request", SET, "DEBUG")) == (0, None)
    assert levels(client)["barnabas.request"] == "DEBUG"
    before = levels(client)
    assert before[below] == "INFO"
    assert alter(client, BROKER_1, (below, SET, "TRACE")) == (0, None)
    assert levels(client)[below] == "TRACE"
    assert alter(client, BROKER_1, (below, DELETE, None)) == (0, None)
    assert levels(client)[below] == "INFO"
    assert alter(client, BROKER_1, ("root", SET, "WARN")) == (0, None)
    assert levels(client)[below] == "WARN"
    assert alter(client, BROKER_1, ("root", SET, "INFO")) == (0, None)


@pytest.mark.parametrize(
    ("resource", "change", "error"),
    [
        (BROKER_1, ("barnabas.nowhere", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (BROKER_1, ("root", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        (BROKER_1, ("root", SET, None), ErrorCode.INVALID_CONFIG),
        (BROKER_1, ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (BROKER_1, ("root", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        ((LOGGER, "7"), ("root", SET, "INFO"), ErrorCode.INVALID_REQUEST),
        ((LOGGER, ""), ("root", SET, "INFO"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_no_level(
    client: RawClient,
    resource: tuple[int, str],
    change: tuple[str, int, str | None],
    error: ErrorCode,
) -> None:
    assert alter(client, resource, change)[0] == error


def test_a_change_is_made_as_a_whole(client: RawClient) -> None:
    refused = alter(client, BROKER_1, ("root", SET, "ERROR"), ("barnabas.nowhere", SET, "INFO"))
    assert refused[0] == ErrorCode.INVALID_CONFIG
    assert "did you mean" in (refused[1] or "") or "does not exist" in (refused[1] or "")
    assert levels(client)["root"] == "INFO"


def test_a_log_as_json_is_read_line_by_line(make_broker: MakeBroker, tmp_path: Path) -> None:
    file = tmp_path / "logs" / "server.log"
    broker = make_broker(log_format="json", log_file=str(file), node_id="1")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["node"] for line in lines} == {1}
    assert any(re.match("metrics at http://", line["message"]) for line in lines)
    assert "metrics at" not in broker.log.read_text()


def chatty(broker: BrokerProcess) -> None:
    """Log some kilobytes."""
    with RawClient(broker.host, broker.port) as client:
        for number in range(30):
            create_topic(client, f"topic-{number}")


def test_a_log_file_is_rotated_and_old_ones_are_removed(
    make_broker: MakeBroker, tmp_path: Path
) -> None:
    file = tmp_path / "server.log"
    broker = make_broker(
        log_file=str(file),
        log_file_max_bytes="2000",
        log_file_max_count="2",
        request_log_clients="*",
    )
    chatty(broker)
    kept = sorted(each.name for each in tmp_path.glob("server.log*"))
    assert kept == ["server.log", "server.log.1", "server.log.2"]
    assert all(each.stat().st_size <= 2000 for each in tmp_path.glob("server.log*"))


def test_another_program_may_rotate_the_file(make_broker: MakeBroker, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    broker = make_broker(log_file=str(file), log_file_max_bytes="0", request_log_clients="*")
    shutil.move(file, tmp_path / "moved.log")
    chatty(broker)
    assert "topic-0" in file.read_text()


def test_a_file_that_can_not_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    broker = BrokerProcess(tmp_path, {"log.file": str(tmp_path / "file" / "server.log")})
    with pytest.raises(AssertionError):
        broker.start()
    assert "error: log.file=" in broker.log.read_text()
    broker.kill()
