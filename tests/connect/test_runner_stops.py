"""A connector is said to be paused or stopped when its driver has stopped it, and not before."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from barnabas.connect import runner as runner_module
from barnabas.connect.runner import Runner
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.records import ConnectorStatus, Definition, Target
from tests.support.wait import wait_until_async


class SlowDriver:
    """Runs everything at once, and stops it when the test says so."""

    is_ready = True
    starting = None

    def __init__(self, key: str, _options: object, _log: object, take: Any) -> None:
        self.key = key
        self._take = take
        self.is_stopped = asyncio.Event()

    async def run(self) -> int:
        await asyncio.Event().wait()
        return 0

    def send(self, command: Mapping[str, Any]) -> None:
        if command["do"] == "start":
            told = {"generation": command["generation"], "state": "RUNNING", "trace": None}
            tasks = [{"state": "RUNNING", "trace": None}]
            self._take(
                self,
                {"event": "status", "connectors": {"c": {**told, "tasks": tasks, "topics": []}}},
            )

    async def ask(self, command: Mapping[str, Any]) -> str:
        if command["do"] == "stop":
            await self.is_stopped.wait()
        return ""

    async def end(self) -> None:
        pass


class Topics:
    def __init__(self) -> None:
        self.definitions = {"c": Definition({"connector.class": "x"})}
        self.statuses: dict[str, Mapping[str, Any]] = {}
        self.known: ConnectorStatus | None = None

    def status(self, _name: str) -> ConnectorStatus | None:
        return self.known


@pytest.mark.parametrize("target", ["PAUSED", "STOPPED"])
def test_it_is_said_when_the_driver_has_done_it(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(stop_slowly(target, monkeypatch))


async def stop_slowly(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    drivers: list[SlowDriver] = []

    def start_driver(*given: Any) -> SlowDriver:
        drivers.append(SlowDriver(*given))
        return drivers[-1]

    monkeypatch.setattr(runner_module, "DriverProcess", start_driver)
    monkeypatch.setattr(runner_module, "lease_time", lambda: 0.0)
    topics = Topics()
    settings = ServiceSettings("localhost:1", "checkpoints", Path())
    runner = Runner(settings, topics, "one:1")  # type: ignore[arg-type]
    states: list[str] = []

    async def write(changed: Mapping[str, Any], _topic: str) -> None:
        (status,) = changed.values()
        states.append(status["state"])
        topics.known = runner._status("c", topics.definitions["c"], topics.known)

    runner.start()
    await runner.extend_lease(1.0)
    leading = asyncio.ensure_future(runner.lead(write))
    await wait_until_async(lambda: states == ["RUNNING"])
    topics.definitions["c"] = Definition({"connector.class": "x"}, target)
    runner.wake()
    await asyncio.sleep(0.5)  # it has every chance to be too early
    assert states == ["RUNNING"]
    drivers[0].is_stopped.set()
    await wait_until_async(lambda: states == ["RUNNING", target])
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)
    await runner.close()
