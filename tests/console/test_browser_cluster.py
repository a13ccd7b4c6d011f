"""Moves, quotas, transactions and problems of a cluster in a real Chromium."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, expect

import barnabas
from barnabas.client.admin.reassignments import alter_reassignments
from barnabas.client.connect.cluster_client import ClusterClient
from tests.console.browser import WAIT_MS, Visit, chromium, violations
from tests.console.console_process import ConsoleProcess

expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, console: ConsoleProcess) -> Iterator[Visit]:
    visit = Visit(browser, console.url, viewport={"width": 1280, "height": 860})
    yield visit
    visit.check()
    visit.close()


def test_a_quota_is_set_changed_and_removed(visit: Visit) -> None:
    page = visit.open("/access?tab=quotas")
    page.get_by_role("button", name="New quota").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("needs a user")
    visit.complaints.clear()  # of the answer 400, which was asked for
    dialog.get_by_label("User").fill("ada")
    dialog.get_by_label("Bytes written per second").fill("1048576")
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("row", name="user ada")
    expect(row).to_contain_text("producer_byte_rate 1,048,576")
    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("Bytes read per second").fill("2000000")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("consumer_byte_rate 2,000,000")
    row.get_by_role("button", name="Change").click()
    for label in ("Bytes written per second", "Bytes read per second"):
        dialog.get_by_label(label).fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("There are no quotas.")).to_be_visible()


def test_a_transaction_that_does_not_hang_is_not_rolled_back(visit: Visit) -> None:
    one = {"topic": "orders", "partition": 0, "producer_id": 7, "start_offset": 3, "last_ms": 0}
    answer = json.dumps({"hanging": [one]})
    visit.page.route(
        "**/api/transactions/hanging",
        lambda route: route.fulfill(body=answer, content_type="application/json"),
    )
    with barnabas.Admin(_servers(visit)) as admin:
        admin.create_topic("orders", exist_ok=True)
    page = visit.open("/cluster?tab=transactions")
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("alert")).to_contain_text("does not hang")
    visit.complaints.clear()  # of the answer 409, which was asked for


def test_a_move_shows_its_progress_and_is_called_off(
    visit: Visit, cluster: barnabas.Cluster
) -> None:
    name = barnabas.TopicPartition("parcels", 0)
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic("parcels", partitions=1, replication_factor=1)
        (leader,) = admin.describe_topic("parcels").partitions[0].replicas
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        producer.send("parcels", b"x" * 100_000)
    controller = _controller(visit)
    target = next(each for each in (1, 2, 3) if each not in (leader, controller))
    cluster.kill(target)  # so the copy never ends
    try:
        with ThreadPoolExecutor() as pool:  # the browser's driver has the loop of this thread
            pool.submit(asyncio.run, _move(cluster.bootstrap_servers, name, target)).result()
        page = visit.open("/cluster")
        progress = page.get_by_label(f"Copy of parcels 0 on node {target}")
        expect(progress).to_be_visible()
        expect(page.get_by_text("0 % of 100")).to_be_visible()
        page.get_by_role("button", name="Call the move of parcels 0 off").click()
        expect(page.get_by_text("Called the move of parcels 0 off.")).to_be_visible()
        expect(progress).to_have_count(0)
        page.get_by_role("link", name="Problems").click()
        expect(page.get_by_text(f"Node {target} has left the cluster")).to_be_visible()
        expect(page.locator(".findings")).to_contain_text(f"node {target}")
    finally:
        cluster.restart(target)
    visit.complaints.clear()  # a broker that is away may be an answer 502


async def _move(servers: str, name: barnabas.TopicPartition, target: int) -> None:
    async with ClusterClient(servers) as client:
        await client.refresh([])
        for error in (await alter_reassignments(client, {name: [target]})).values():
            assert error is None


def _servers(visit: Visit) -> str:
    visit.open("/cluster")
    found = visit.page.evaluate("fetch('/api/session').then(r => r.json()).then(s => s.bootstrap)")
    return str(found)


def _controller(visit: Visit) -> int:
    visit.open("/cluster")
    nodes = visit.page.evaluate("fetch('/api/cluster').then(r => r.json()).then(c => c.nodes)")
    return next(each["id"] for each in nodes if each["controller"])


def test_axe_finds_nothing(browser: Browser, console: ConsoleProcess) -> None:
    pages = [
        ("light", "/cluster?tab=problems"),
        ("dark", "/cluster?tab=transactions"),
        ("light", "/access?tab=quotas"),
    ]
    assert violations(browser, console, pages) == {}
