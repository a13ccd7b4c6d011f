"""A test that fails while the machine is starved is run again, and the summary names it.

Most tests start processes and wait for them. Where four workers share two cores with others, or the
host of a virtual machine takes its cores away for seconds, a session ends or a client gives up, and
that says nothing about the code. Such a failure counts only if it comes again: up to twice, with
all fixtures made anew. On a machine that was not starved meanwhile the first failure counts.

What passed only later is listed at the end of the run with what failed first: read it. A defect
that shows now and then looks the same.
"""

import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

_AGAIN = 2
_ENOUGH = 10
"""So many tests of a worker get a chance: a broken tree shall not take three times as long."""

_TICK_S = 0.05
_STALL_S = 0.5
_STOLEN = 0.1
_BUSY = 0.5

_CHANCES = pytest.StashKey[int]()
_PROPERTY = "failed first"
_FAILURE_CHARS = 300

_PRESSURE = Path("/proc/pressure/cpu")
_CPU = Path("/proc/stat")


class Starvation:
    """What the machine withheld from its processes since this began."""

    _longest_stall_s = 0.0
    _ticker: threading.Thread | None = None

    def __init__(self) -> None:
        if Starvation._ticker is None:
            Starvation._ticker = threading.Thread(target=self._tick, daemon=True)
            Starvation._ticker.start()
        Starvation._longest_stall_s = 0.0
        self._began = time.monotonic()
        self._waited_s = _waited_s()
        self._stolen = _stolen()

    def was_felt(self) -> bool:
        """A stall, stolen cores, or processes that waited for a core most of the time."""
        took_s = max(time.monotonic() - self._began, _TICK_S)
        stolen, all_ticks = (now - then for now, then in zip(_stolen(), self._stolen, strict=True))
        return (
            Starvation._longest_stall_s > _STALL_S
            or stolen > _STOLEN * max(all_ticks, 1)
            or (_waited_s() - self._waited_s) / took_s > _BUSY
        )

    @classmethod
    def _tick(cls) -> None:
        while True:
            slept = time.monotonic()
            time.sleep(_TICK_S)
            cls._longest_stall_s = max(cls._longest_stall_s, time.monotonic() - slept - _TICK_S)


def _waited_s() -> float:
    """For how long some process of the machine has waited for a core, since it was started."""
    try:
        first = _PRESSURE.read_text().splitlines()[0]
    except OSError:  # not every kernel tells
        return 0.0
    return int(first.rpartition("=")[2]) / 1e6


def _stolen() -> tuple[int, int]:
    """Ticks of the cores that the host took, and ticks of all kinds."""
    try:
        ticks = [int(each) for each in _CPU.read_text().splitlines()[0].split()[1:9]]
    except OSError:
        return (0, 0)
    return (ticks[7], sum(ticks))


class SecondChance:
    """The plugin; `starvation` is another class in its own tests."""

    def __init__(self, starvation: type[Starvation] = Starvation) -> None:
        self._starvation = starvation
        self._given = 0
        self._later: list[tuple[str, str]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        chance = item.stash.get(_CHANCES, 0)
        if not chance:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        starvation = self._starvation()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        failures = [report for report in reports if report.failed]
        if failures and chance < _AGAIN and self._given < _ENOUGH and starvation.was_felt():
            if not chance:
                self._given += 1
                item.user_properties.append((_PROPERTY, _first_words(failures[0])))
            item.stash[_CHANCES] = chance + 1
            item.session._setupstate.teardown_exact(None)  # also what other tests share
            # Through all plugins once more, so that the test has its whole time again.
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        else:
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
        if not chance:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            found = dict(report.user_properties).get(_PROPERTY)
            if found is not None:
                self._later.append((report.nodeid, str(found)))

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        yield
        if self._later:
            terminalreporter.section("run again, because the machine was starved")
            for nodeid, words in self._later:
                terminalreporter.line(f"{nodeid}: {words}")


def _first_words(report: pytest.TestReport) -> str:
    lines = [line for line in str(report.longreprtext).splitlines() if line.startswith("E ")]
    return " ".join(" ".join(lines).split())[:_FAILURE_CHARS] or f"its {report.when} failed"
