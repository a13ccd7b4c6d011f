"""Who may run code on the machine of the service, and where requests with passwords go."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from barnabas.connect import runner as runner_module
from barnabas.connect import service as service_module
from barnabas.connect.code_settings import code_setting
from barnabas.connect.config_check import config_errors, config_validation
from barnabas.connect.open_cluster import warn_if_open
from barnabas.connect.runner import Runner
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.records import ConnectorStatus, Definition
from barnabas.errors import BarnabasError
from barnabas.web.known_instances import is_known
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until_async

PLAIN = {"connector.class": "to_parquet", "topics": "orders", "path": "lake"}
CODE = [
    ({"connector.class": "pipeline", "pipeline.sql": "SELECT 1"}, "connector.class"),
    ({"connector.class": "pipeline", "pipeline.file": "a.py"}, "connector.class"),
    ({"connector.class": "from_connector", "connector": "os:system"}, "connector"),
    ({**PLAIN, "source.class": "from_connector", "source.connector": "a:B"}, "source.connector"),
    ({**PLAIN, "transform.sql": "SELECT reflect('a.B', 'c')"}, "transform.sql"),
    ({**PLAIN, "spark.own": "true", "spark.jars": "http://a/b.jar"}, "spark.jars"),
    ({**PLAIN, "spark.sql.catalog.x": "a.B"}, "spark.sql.catalog.x"),
    ({**PLAIN, "partition.by": "day=reflect('a.B', 'c')"}, "partition.by"),
    ({"connector.class": "to_http", "order.by": "java_method('a.B', 'c')"}, "order.by"),
    ({"connector.class": "to_http", "idempotency_key": "reflect('a', 'b')"}, "idempotency_key"),
    ({"connector.class": "to_postgres", "delete.when": "reflect('a', 'b')"}, "delete.when"),
    ({**PLAIN, "sink.latest.by": "reflect('a', 'b')"}, "sink.latest.by"),
    ({"connector.class": "from_query", "jar": "a.jar"}, "jar"),
]


@pytest.mark.parametrize(("config", "named"), CODE)
def test_settings_that_run_code_are_refused_unless_they_are_allowed(
    config: Mapping[str, str], named: str, tmp_path: Path
) -> None:
    assert code_setting(config) == named
    errors = asyncio.run(config_errors(config, tmp_path, allow_code=False))
    assert errors.found == {
        named: [f"{named} runs code, and this service was started without --allow-code"]
    }
    kind = config["connector.class"]
    found = asyncio.run(config_validation(kind, config, tmp_path, allow_code=False))
    assert "--allow-code" in str(found)


@pytest.mark.parametrize(
    "config", [PLAIN, {**PLAIN, "spark.own": "true", "spark.driver.memory": "2g"}]
)
def test_installed_plugins_need_no_permission(config: Mapping[str, str], tmp_path: Path) -> None:
    assert code_setting(config) is None
    errors = asyncio.run(config_errors(config, tmp_path, allow_code=False))
    assert "--allow-code" not in str(errors.found)


class Driver:
    """Notes what it is asked to do."""

    is_ready = True
    starting = None
    asked: list[Mapping[str, Any]] = []  # noqa: RUF012 - one for all, cleared by the test

    def __init__(self, key: str, *_: object) -> None:
        self.key = key

    async def run(self) -> int:
        await asyncio.Event().wait()
        return 0

    def send(self, command: Mapping[str, Any]) -> None:
        self.asked.append(command)

    async def ask(self, command: Mapping[str, Any]) -> str:
        self.asked.append(command)
        return ""

    async def end(self) -> None:
        pass


class Topics:
    """Records that somebody has written to the topics."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.definitions = {
            "forged": Definition(config),
            "reset": Definition(config, is_reset_pending=True),
        }
        self.known: dict[str, ConnectorStatus] = {}

    def status(self, name: str) -> ConnectorStatus | None:
        return self.known.get(name)


@pytest.mark.parametrize(("config", "named"), CODE)
def test_a_record_of_the_topic_runs_no_code(
    config: Mapping[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write the topic need not ask the REST API."""
    monkeypatch.setattr(runner_module, "DriverProcess", Driver)
    monkeypatch.setattr(runner_module, "lease_time", lambda: 0.0)
    Driver.asked.clear()
    written: dict[str, Any] = {}

    async def main() -> None:
        settings = ServiceSettings("localhost:1", "checkpoints", Path())
        runner = Runner(settings, Topics(config), "one:1")  # type: ignore[arg-type]

        async def write(changed: Mapping[str, Any], _topic: str) -> None:
            written.update(changed)

        runner.start()
        await runner.extend_lease(1.0)
        leading = asyncio.ensure_future(runner.lead(write))
        await wait_until_async(lambda: "status-connector-forged" in written)
        with pytest.raises(BarnabasError, match="--allow-code"):
            await runner.check_reset(config, None, [])
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        await runner.close()

    asyncio.run(main())
    assert written["status-connector-forged"]["state"] == "FAILED"
    assert f"{named} runs code" in written["status-connector-forged"]["trace"]
    assert {each["do"] for each in Driver.asked} <= {"lease", "stop_all", "stop"}


@pytest.mark.parametrize(
    ("url", "own", "instances", "known"),
    [
        ("http://127.0.0.1:8084", "http://127.0.0.1:8083", (), True),
        ("http://[::1]:8084", "http://localhost:8083", (), True),
        ("http://evil.example:80", "http://127.0.0.1:8083", (), False),
        ("http://127.0.0.1:8084", "http://a:8083", (), False),
        ("http://b:8083", "http://a:8083", (), False),
        ("http://b:8083/", "http://a:8083", ("http://a:8083", "http://b:8083"), True),
        ("http://b:9999", "http://a:8083", ("http://a:8083", "http://b:8083"), False),
        ("https://b:8083", "http://a:8083", ("http://b:8083",), False),
        ("http://[", "http://127.0.0.1:8083", (), False),
    ],
)
def test_requests_are_passed_on_to_known_instances_only(
    url: str, own: str, instances: tuple[str, ...], known: bool
) -> None:
    assert is_known(url, own, instances) is known


@pytest.mark.parametrize("allow_code", [False, True])
def test_a_cluster_without_access_rules_is_warned_of(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture, allow_code: bool
) -> None:
    settings = ServiceSettings(broker.bootstrap, "checkpoints", Path(), allow_code=allow_code)
    with caplog.at_level(logging.WARNING, "barnabas.connect"):
        asyncio.run(warn_if_open(settings))
    (said,) = caplog.messages
    assert "the cluster has no access rules" in said
    assert ("run any code on this machine" in said) is allow_code


class Enough(Exception):
    """The service is about to serve."""


def test_the_service_warns_before_it_serves(
    broker: BrokerProcess,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def serve(*_: object) -> None:
        raise Enough(*caplog.messages)

    monkeypatch.setattr(service_module, "_serve", serve)
    settings = ServiceSettings(broker.bootstrap, str(tmp_path), tmp_path)
    with (
        caplog.at_level(logging.WARNING, "barnabas.connect"),
        pytest.raises(Enough, match="the cluster has no access rules"),
    ):
        asyncio.run(service_module.serve(settings))
