"""Progress by area, in place of a dot for each of thousands of tests.

A line for each area that has ended, one for each test that fails, at once, and now and then one
that says what is running:

     3:05   48%  groups: 612 passed
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.areas import area_of

_QUIET_S = 30.0
_SHOWN_RUNNING = 6
_SHOWN_CHARS = 200


class Progress:
    """The plugin; only the process that the terminal belongs to has it."""

    def __init__(self, began: float | None = None) -> None:
        self._began = time.monotonic() if began is None else began
        self._said = self._began
        self._expected: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._outcomes: dict[str, Counter[str]] = {}
        self._terminal: pytest.TerminalReporter | None = None

    # -- what there is to do ---------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        if not self._expected:
            self._terminal = node.config.pluginmanager.get_plugin("terminalreporter")
            self._expect(ids)

    def _expect(self, ids: Sequence[str]) -> None:
        self._expected.update(area_of(each) for each in ids)

    # -- what was done ---------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """No letter for a test; the categories stay as they are."""
        if isinstance(report, pytest.TestReport) and not hasattr(report, "wasxfail"):
            if report.failed:
                return ("error" if report.when != "call" else "failed", "", "FAILED")
            if report.skipped:
                return ("skipped", "", "SKIPPED")
            return ("passed" if report.when == "call" else "", "", "PASSED")
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        area = area_of(report.nodeid)
        if report.failed:
            self._say(f"FAILED {report.nodeid}: {_first_line(report)}")
        if report.failed or report.when == "call" or report.skipped:
            self._outcomes.setdefault(area, Counter())[report.outcome] += 1
        if report.when == "teardown":
            self._ended[area] += 1
            if self._ended[area] == self._expected[area]:
                counts = self._outcomes.get(area, Counter())
                told = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
                self._say(f"{area}: {told}")
            elif time.monotonic() - self._said > _QUIET_S:
                self._say(f"running: {self._running()}")

    def _running(self) -> str:
        begun = [area for area, n in self._ended.items() if 0 < n < self._expected[area]]
        more = " …" if len(begun) > _SHOWN_RUNNING else ""
        return ", ".join(begun[:_SHOWN_RUNNING]) + more

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        minutes, seconds = divmod(int(self._said - self._began), 60)
        done = 100 * self._ended.total() // max(1, self._expected.total())
        if self._terminal is not None:
            self._terminal.ensure_newline()
            self._terminal.write_line(f"{minutes:3}:{seconds:02} {done:4}%  {text}")


def _first_line(report: pytest.TestReport) -> str:
    """What went wrong, in short: all of it comes at the end of the run."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(report.longrepr) if crash is None else crash.message
    return text.strip().partition("\n")[0][:_SHOWN_CHARS]
