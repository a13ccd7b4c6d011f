"""A real Chromium, driven by Playwright, and what holds on every page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from tests.console.console_process import ConsoleProcess
from tests.support.machine import find_tool, missing

WAIT_MS = 120_000
"""As long as other tests wait: a busy machine is no reason to fail."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of the machine; skips where there is none."""
    program = find_tool("chromium")
    if program is None:
        pytest.skip(missing("chromium"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program.resolve(), args=["--no-sandbox"], timeout=WAIT_MS
        )
        yield browser
        browser.close()


class Visit:
    """A page, with all that it asked for and complained of."""

    def __init__(self, browser: Browser, url: str, **options: object) -> None:
        self.url = url
        self.context = browser.new_context(**options)  # type: ignore[arg-type]
        self.context.set_default_timeout(WAIT_MS)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        self.bytes = 0
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)
        self.page.on("response", self._answered)

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def check(self) -> None:
        """Nothing was asked of another origin, and the page has not complained."""
        assert self.foreign == [], self.foreign
        assert self.complaints == [], self.complaints

    def close(self) -> None:
        self.context.close()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, request: Request) -> None:
        ours, other = urlsplit(self.url), urlsplit(request.url)
        if other.scheme not in ("data", "blob") and other.netloc != ours.netloc:
            self.foreign.append(request.url)

    def _answered(self, response: Response) -> None:
        self.bytes += int(response.headers.get("content-length", 0))


def violations(
    browser: Browser, console: ConsoleProcess, pages: list[tuple[str, str]]
) -> dict[str, list[str]]:
    """What axe finds on pages, each light or dark."""
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    source = (Path(package.__path__[0]) / "axe.min.js").read_text()
    found: dict[str, list[str]] = {}
    for scheme, path in pages:
        visit = Visit(browser, console.url, color_scheme=scheme)
        page = visit.open(path)
        settle(page)
        page.evaluate(source)
        problems = [
            f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
            for each in page.evaluate("axe.run()")["violations"]
            for node in each["nodes"][:3]
        ]
        if problems:
            found[f"{scheme} {path}"] = problems
        visit.close()
    return found


def settle(page: Page) -> None:
    """Wait until the page shows what it is about."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.wait_for_timeout(200)  # for colors that fade
