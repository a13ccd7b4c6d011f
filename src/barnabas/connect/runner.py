"""Brings Spark drivers in line with what is wanted, and says what has become of it.

There is one driver that connectors share, from the start on, so that an instance that stands by has
a Spark that is warm; one for each connector with `spark.own`, and a process without Spark for each
mirror, while this instance leads.
"""

import asyncio
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from barnabas.backoff import Backoff
from barnabas.connect.code_settings import check_code, code_refusal
from barnabas.connect.driver.driver_process import DriverProcess
from barnabas.connect.driver.mirror import MODULE as MIRROR_MODULE
from barnabas.connect.lease_clock import lease_time
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.records import (
    ConnectorStatus,
    Definition,
    TaskStatus,
    reset_key,
    status_key,
)
from barnabas.connect.state.state_topics import StateTopics
from barnabas.errors import BarnabasError
from barnabas.spark.pipelines.connectors.driver_settings import driver_conf
from barnabas.spark.pipelines.connectors.mirrors import is_mirror
from barnabas.spark.sessions.combined_conf import combined

_log = logging.getLogger("barnabas.connect")
_PAUSES_S = Backoff(1.0, 60.0)
_RECONCILE_S = 0.2
_SHARED = "shared"
_MOST_CRASHES = 3
_RESET_AGAIN_S = 10.0
_METRICS_TIMEOUT_S = 5.0
"""Shorter than the time that Prometheus waits for a scrape."""

Offsets = Mapping[str, Mapping[str, int]]
Write = Callable[[Mapping[str, Mapping[str, Any] | None], str], Awaitable[None]]


class Runner:
    """The drivers of one instance."""

    def __init__(self, settings: ServiceSettings, topics: StateTopics, worker_id: str) -> None:
        self._settings = settings
        self._topics = topics
        self._worker_id = worker_id
        self._drivers: dict[str, DriverProcess] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._live: dict[str, dict[str, Any]] = {}
        """What drivers say of connectors."""
        self._sent: dict[str, tuple[str, str]] = {}
        """Which generation of a connector was sent to which driver."""
        self._stops: dict[str, asyncio.Task[None]] = {}
        """Connectors that drivers are stopping."""
        self._restarts: Counter[str] = Counter()
        self._crashes: Counter[tuple[str, str]] = Counter()
        """How often a generation was starting when its driver died."""
        self._resetting: set[str] = set()
        """Connectors that a request resets now."""
        self._reset_failures: dict[str, tuple[float, str]] = {}
        """When a pending reset is tried again, and why it failed."""
        self._changed = asyncio.Event()
        self._until = 0.0
        self.driver_starts = 0

    # -- the whole ------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the Spark that connectors share."""
        self._ensure(_SHARED, {})

    @property
    def is_ready(self) -> bool:
        """Whether a connector could start at once."""
        return self._drivers[_SHARED].is_ready

    async def close(self) -> None:
        """End all drivers in order."""
        await asyncio.gather(*(self._end(key) for key in list(self._drivers)))

    async def extend_lease(self, until: float) -> None:
        """Pass on until when this instance leads."""
        self._until = until
        for each in self._drivers.values():
            each.send({"do": "lease", "until": until})

    async def lead(self, write: Write) -> None:
        """Run what is wanted, until it is cancelled."""
        self._sent.clear()
        self._live.clear()
        try:
            while True:
                await self.finish_resets(write)
                await self._reconcile()
                await self._write_statuses(write)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _RECONCILE_S)
                self._changed.clear()
        finally:
            await self._stop_all()

    async def _stop_all(self) -> None:
        """Stop all queries; drivers that do not are ended by their lease."""
        ended = [self._end(key) for key in self._drivers if key != _SHARED]
        shared = self._drivers[_SHARED]
        if shared.is_ready:
            ended.append(_done(shared.ask({"do": "stop_all"})))
        for failed in await asyncio.gather(*ended, return_exceptions=True):
            if isinstance(failed, BaseException):
                _log.warning("a Spark driver did not stop cleanly: %s", failed)

    def wake(self) -> None:
        """Something else is wanted."""
        self._changed.set()

    def restart(self, name: str) -> None:
        """Stop and start a connector, also one that has failed."""
        self._restarts[name] += 1
        self.wake()

    def forget_topics(self, name: str) -> None:
        """Say of no topics that it uses them, until it starts again."""
        if name in self._live:
            self._live[name]["topics"] = []

    async def check_reset(
        self, config: Mapping[str, str], start: Offsets | None, changed: Iterable[str]
    ) -> None:
        """Raise unless a connector reads these topics, and can be reset and begin at `start`."""
        check_code(config, allow_code=self._settings.allow_code)
        told = {"config": dict(config), "start": start, "changed": sorted(changed)}
        await self._ask_shared({"do": "check_reset", **told})

    async def reset(self, name: str, config: Mapping[str, str], start: Offsets | None) -> None:
        """Delete the checkpoints of a connector that does not run, if it can begin at `start`."""
        check_code(config, allow_code=self._settings.allow_code)
        self._sent.pop(name, None)
        await self._ask_shared({"do": "reset", "config": dict(config), "start": start})

    @contextmanager
    def resetting(self, name: str) -> Iterator[None]:
        """A request resets this connector: `finish_resets` has nothing to do with it."""
        self._resetting.add(name)
        try:
            yield
        finally:
            self._resetting.discard(name)

    async def finish_resets(self, write: Write) -> None:
        """Do what was decided and not finished, by an instance or a driver that has died."""
        for name, each in self._topics.definitions.items():
            again_at, _ = self._reset_failures.get(name, (0.0, ""))
            if not each.is_reset_pending or name in self._resetting or lease_time() < again_at:
                continue
            if not self.is_ready:
                return
            try:
                await self.reset(name, each.config, each.start)
            except BarnabasError as error:
                _log.error("connector %s: its offsets can't be changed: %s", name, error)
                self._reset_failures[name] = (lease_time() + _RESET_AGAIN_S, str(error))
                continue
            self._reset_failures.pop(name, None)
            await write({reset_key(name): None}, self._settings.configs_topic)
            _log.info("connector %s: the change of its offsets is finished", name)

    async def driver_metrics(self) -> list[str]:
        """What the drivers that answer tell, in the text format of Prometheus."""
        ready = [each for each in self._drivers.values() if each.is_ready]
        asked = (each.ask({"do": "metrics"}, _METRICS_TIMEOUT_S) for each in ready)
        found = await asyncio.gather(*asked, return_exceptions=True)
        return [each for each in found if isinstance(each, str)]

    async def _ask_shared(self, command: Mapping[str, Any]) -> None:
        driver = self._drivers[_SHARED]
        if not driver.is_ready:
            raise BarnabasError("Spark is starting: try again in a moment")
        await driver.ask(command)

    # -- drivers --------------------------------------------------------------------------------

    def _ensure(
        self, key: str, conf: Mapping[str, str], *, is_mirror: bool = False
    ) -> DriverProcess:
        driver = self._drivers.get(key)
        if driver is None:
            log = self._log_of(key)
            if is_mirror:
                options = {"restarts": self._settings.restarts, "log": str(log)}
                driver = DriverProcess(key, options, log, self._take, MIRROR_MODULE)
            else:
                driver = DriverProcess(key, self._options(key, conf), log, self._take)
            self._drivers[key] = driver
            self._tasks[key] = asyncio.ensure_future(self._keep(driver))
        return driver

    async def _keep(self, driver: DriverProcess) -> None:
        """Run a driver, and another one when it has ended."""
        attempt = 0
        while True:
            self.driver_starts += 1
            try:
                code: int | str = await driver.run()
            except OSError as error:
                code = str(error)
            if self._drivers.get(driver.key) is not driver:
                return
            _log.error("Spark driver %s has ended (exit code %s)", driver.key, code)
            attempt = 1 if self._note_crash(driver) else attempt + 1
            await asyncio.sleep(_PAUSES_S.pause(attempt))

    def _note_crash(self, driver: DriverProcess) -> bool:
        """Count it for the connector that may be the reason; True if another one ran."""
        own = [name for name, (key, _) in self._sent.items() if key == driver.key]
        ran = any(self._live.get(name, {}).get("tasks") for name in own)
        if driver.starting in own:
            self._crashes[self._sent[driver.starting]] += 1
            _log.error("connector %s was starting then", driver.starting)
        elif not own and driver.key != _SHARED:  # Spark does not even start with its settings
            for name, each in self._topics.definitions.items():
                if _driver_key(name, each) == driver.key:
                    self._crashes[driver.key, self._generation(name, each)] += 1
        driver.starting = None
        for name in own:
            del self._sent[name]
            self._live.pop(name, None)
        self.wake()
        return ran

    async def _end(self, key: str) -> None:
        driver = self._drivers.pop(key)
        await driver.end()
        self._tasks[key].cancel()
        await asyncio.gather(self._tasks.pop(key), return_exceptions=True)

    def _options(self, key: str, conf: Mapping[str, str]) -> dict[str, Any]:
        given = self._settings
        remote = "://" in given.checkpoints
        wanted = combined({"spark.ui.enabled": "false"}, given.conf, conf)
        if given.memory is not None and "spark.driver.memory" not in conf:
            wanted["spark.driver.memory"] = given.memory
        return {
            "bootstrap": given.bootstrap,
            "security": dict(given.security),
            "master": given.master,
            "conf": wanted,
            "folder": str(given.logs.resolve()),
            "checkpoints": given.checkpoints.rstrip("/") if remote else None,
            "pipelines": str(given.pipelines.resolve()),
            "restarts": given.restarts,
            "reports": given.reports,
            "log": str(self._log_of(key).with_suffix(".spark.log")),
            "warm_up": given.status_topic if key == _SHARED else None,
        }

    def _log_of(self, key: str) -> Path:
        port = self._worker_id.rpartition(":")[2]
        name = f"driver-{port}.log" if key == _SHARED else f"driver-{port}-{key}.log"
        return self._settings.logs.resolve() / name

    def _take(self, driver: DriverProcess, event: dict[str, Any]) -> None:
        """What a driver says."""
        if event["event"] == "ready":
            driver.send({"do": "lease", "until": self._until})
        elif event["event"] == "expired":
            for name in [each for each, (key, _) in self._sent.items() if key == driver.key]:
                del self._sent[name]
        elif event["event"] == "status":
            for name, status in event["connectors"].items():
                if self._sent.get(name) == (driver.key, status["generation"]):
                    self._live[name] = status
        self.wake()

    # -- connectors -----------------------------------------------------------------------------

    async def _reconcile(self) -> None:
        wanted = self._topics.definitions
        runs = {
            name: each
            for name, each in wanted.items()
            if each.target == "STARTED"
            and not each.is_reset_pending
            and self._code_refusal(each) is None
        }
        for name in [each for each in self._sent if each not in runs]:
            key, _ = self._sent.pop(name)
            self._live.pop(name, None)
            if key in self._drivers:
                self._stops[name] = asyncio.ensure_future(self._stop(name, self._drivers[key]))
        own = {_SHARED}
        for name, each in runs.items():
            conf = driver_conf(each.config)
            key = _driver_key(name, each)
            if self._crashes[key, self._generation(name, each)] < _MOST_CRASHES:
                own.add(key)
                driver = self._ensure(key, conf or {}, is_mirror=is_mirror(each.config))
                self._send(name, each, driver)
        await asyncio.gather(*(self._end(key) for key in self._drivers if key not in own))

    def _code_refusal(self, definition: Definition) -> str | None:
        """Why it is not run. The record may be of anybody who can write the topic."""
        refused = code_refusal(definition.config, allow_code=self._settings.allow_code)
        return None if refused is None else refused[1]

    async def _stop(self, name: str, driver: DriverProcess) -> None:
        """Until it copies nothing any more: only then it is said to be paused or stopped."""
        with suppress(BarnabasError, OSError):  # a driver that is gone has stopped it, too
            await driver.ask({"do": "stop", "name": name})
        if self._stops.get(name) is asyncio.current_task():
            del self._stops[name]
        self.wake()

    def _send(self, name: str, definition: Definition, driver: DriverProcess) -> None:
        """Send it to its driver, unless that has it, as it is now."""
        generation = self._generation(name, definition)
        sent = self._sent.get(name)
        if sent == (driver.key, generation) or not driver.is_ready or lease_time() > self._until:
            return
        if sent is not None and sent[0] != driver.key and sent[0] in self._drivers:
            self._drivers[sent[0]].send({"do": "stop", "name": name})
        self._sent[name] = (driver.key, generation)
        self._live.pop(name, None)
        told = {"config": dict(definition.config), "start": definition.start}
        driver.send({"do": "start", "name": name, "generation": generation, **told})

    def _generation(self, name: str, definition: Definition) -> str:
        """Stands for what is to run: it changes with the settings, and with each restart."""
        return _digest([dict(definition.config), definition.start, self._restarts[name]])

    async def _write_statuses(self, write: Write) -> None:
        changed: dict[str, Mapping[str, Any] | None] = {}
        for name, definition in self._topics.definitions.items():
            before = self._topics.status(name)
            status = self._status(name, definition, before)
            if status != before:
                changed[status_key(name)] = status.value()
        if changed:
            await write(changed, self._settings.status_topic)

    def _status(
        self, name: str, definition: Definition, before: ConnectorStatus | None
    ) -> ConnectorStatus:
        topics = () if before is None else before.topics
        if name in self._stops and before is not None:
            return before
        if definition.target == "STOPPED":
            return ConnectorStatus("STOPPED", self._worker_id, topics=topics)
        if definition.target == "PAUSED":
            count = 1 if before is None else max(1, len(before.tasks))
            tasks = (TaskStatus("PAUSED"),) * count
            return ConnectorStatus("PAUSED", self._worker_id, tasks=tasks, topics=topics)
        refusal = self._code_refusal(definition)
        if refusal is not None:
            return ConnectorStatus("FAILED", self._worker_id, refusal, topics=topics)
        key = _driver_key(name, definition)
        if self._crashes[key, self._generation(name, definition)] >= _MOST_CRASHES:
            reason = (
                f"the Spark driver has ended {_MOST_CRASHES} times while this connector started; "
                f"its log says why: {self._log_of(key)}"
            )
            return ConnectorStatus("FAILED", self._worker_id, reason, topics=topics)
        live = self._live.get(name)
        if live is None:
            _, failure = self._reset_failures.get(name, (0.0, None))
            trace = None if failure is None else f"its offsets can't be changed: {failure}"
            return ConnectorStatus("UNASSIGNED", self._worker_id, trace, topics=topics)
        return ConnectorStatus(
            live["state"],
            self._worker_id,
            live["trace"],
            tuple(TaskStatus(each["state"], each["trace"]) for each in live["tasks"]),
            tuple(live["topics"]),
        )


async def _done(answer: Awaitable[object]) -> None:
    await answer


def _driver_key(name: str, definition: Definition) -> str:
    """The driver that it runs in; other settings of its own Spark need another one."""
    if is_mirror(definition.config):
        return f"{name}-mirror"
    conf = driver_conf(definition.config)
    return _SHARED if conf is None else f"{name}-{_digest(conf)}"


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
