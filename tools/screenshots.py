"""Takes the screenshots of the documentation: `make screenshots`, with Chromium installed.

They show the demo's nodes, database and pipelines at work, none of them killed. The names of
pages, and the files in docs/images, are in `SHOTS`.
"""

import argparse
import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Page, async_playwright

import barnabas
from examples.demo.console import start_console
from examples.demo.database import Database
from examples.demo.nodes import Nodes
from examples.demo.play import TOPIC, TOPICS
from examples.demo.processes import Processes
from examples.demo.shop import Shop
from examples.demo.spark import run_pipelines
from examples.demo.traffic import Traffic
from examples.demo.website import Website

SHOTS = {"/": "console.png", "/pipelines": "console-pipelines.png"}
IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SIZE = {"width": 1360, "height": 760}

_ENDS = {"views_table", "clicks_table", "ordered_views"}
"""The pipelines that all others, or their readers, lead to."""
_MINUTES = 110
"""Of the website, which is open for two hours at most."""
_WARM_UP_S = 150.0
"""The plots of the overview have something to show by then."""
_PATIENCE_S = 240.0
_PATIENCE_MS = 1000 * _PATIENCE_S


def main() -> None:
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("--images", type=Path, default=IMAGES, help="directory for the pictures")
    parser.add_argument("--rate", type=int, default=300, help="events a second")
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium found; install it (Debian's package chromium) and run this again")
    with TemporaryDirectory(prefix="barnabas-screenshots-") as work:
        asyncio.run(_take(chromium, options.images, options.rate, Path(work)))


async def _take(chromium: str, images: Path, rate: int, work: Path) -> None:
    async with _busy_cluster(rate, work) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for path, name in SHOTS.items():
            page = await browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
            await page.goto(address.rstrip("/") + path)
            await _settle(page)
            await page.screenshot(path=images / name)
            print(images / name)
        await browser.close()


async def _settle(page: Page) -> None:
    """Wait until the page has what it shows, and has asked for it again."""
    await page.locator("h1").wait_for(timeout=_PATIENCE_MS)
    await page.locator(".loading").wait_for(state="detached", timeout=_PATIENCE_MS)
    await page.wait_for_timeout(5_000)


@asynccontextmanager
async def _busy_cluster(rate: int, work: Path) -> AsyncIterator[str]:
    """The address of the console, once all pipelines have worked for a while."""
    at_work: set[str] = set()

    def note(status: Mapping[str, Any]) -> None:
        if status.get("rows_in"):
            at_work.add(status["pipeline"])

    async with Processes(work / "errors.log") as processes:
        nodes, database = await asyncio.gather(
            Nodes.start(processes, work / "data"), Database.start(processes, work / "database")
        )
        address = await start_console(processes, nodes.bootstrap)
        if address is None:
            sys.exit("the console is not installed; run make setup")
        async with (
            barnabas.aio.Admin(nodes.bootstrap) as admin,
            barnabas.aio.Producer(nodes.bootstrap, linger_ms=20) as producer,
        ):
            for topic, partitions in TOPICS.items():
                await admin.create_topic(
                    topic, partitions=partitions, configs={"min.insync.replicas": 2}
                )
            shop = Shop(database)
            await shop.open()
            shop.may_cancel = True
            website = Website(producer, TOPIC)
            visits = asyncio.gather(shop.work(), _visit(website, shop, rate))
            try:
                await run_pipelines(
                    processes, nodes.bootstrap, database.url, work / "tables", work / "spark", note
                )
                async with asyncio.timeout(_PATIENCE_S):
                    while not at_work >= _ENDS:
                        processes.check()
                        await asyncio.sleep(1)
                await asyncio.sleep(_WARM_UP_S)
                yield address
            finally:
                visits.cancel()
                with suppress(asyncio.CancelledError):
                    await visits
        await database.stop()
        await nodes.stop()


async def _visit(website: Website, shop: Shop, rate: int) -> None:
    """Visits at a steady rate, until it is cancelled or the website closes."""
    seconds = _PATIENCE_S + _WARM_UP_S
    for events in Traffic(1, _MINUTES, int(rate * seconds / _MINUTES)).by_minute():
        shop.take(events)
        await website.send(events, len(events) / rate)


if __name__ == "__main__":
    main()
