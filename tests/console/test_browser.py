"""The pages in a real Chromium, against a real cluster of three nodes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import barnabas
from tests.console.browser import WAIT_MS, Visit, chromium, violations
from tests.console.console_process import ConsoleProcess
from tests.support.wait import wait_until

expect.set_options(timeout=WAIT_MS)

FIRST_PAGE_BYTES = 200_000
MAIN_PAGES = (
    "/",
    "/topics",
    "/topics/orders",
    "/topics/orders?tab=partitions",
    "/topics/orders?tab=settings",
    "/topics/orders?tab=readers",
    "/topics/orders?tab=actions",
    "/topics/orders?m=0:3",
    "/groups",
    "/group?id=billing",
    "/group?id=billing&tab=reset",
    "/cluster",
    "/cluster?tab=disks",
    "/access",
    "/pipelines",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def filled(cluster: barnabas.Cluster) -> barnabas.Cluster:
    """Orders that a group has read in part, and a topic with hostile content."""
    servers = cluster.bootstrap_servers
    with barnabas.Admin(servers) as admin, barnabas.Producer(servers) as producer:
        for name, partitions in (("orders", 3), ("hostile", 1), ("payments", 1)):
            admin.create_topic(name, partitions=partitions)
        for n in range(300):
            value = json.dumps({"n": n, "status": "late" if n % 50 == 0 else "new"}).encode()
            producer.send("orders", value, b"k%d" % n, partition=n % 3)
        producer.send("hostile", b"<script>document.title='pwned'</script>", b"<img src=x>")
        producer.send("hostile", "safe \u202egnp.exe \x00\x1b[31m\x07".encode(), b"bidi")
        producer.send("hostile", b"x" * 900_000, b"one line")
        producer.send("hostile", bytes(range(256)), b"\xff")
        producer.flush()
        admin.set_group_offsets("billing", {barnabas.TopicPartition("orders", 0): 40})
    return cluster


@pytest.fixture
def visit(browser: Browser, filled: barnabas.Cluster, console: ConsoleProcess) -> Iterator[Visit]:
    visit = Visit(browser, console.url, viewport={"width": 1280, "height": 860})
    yield visit
    visit.check()
    visit.close()


def test_the_overview_says_how_the_cluster_is(visit: Visit) -> None:
    page = visit.open("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_label("Health")).to_be_visible()
    expect(page.get_by_text("controller")).to_be_visible()
    expect(page.locator(".plot canvas")).to_have_count(3)
    assert visit.bytes < FIRST_PAGE_BYTES
    assert page.title() == "Overview · Barnabas"


def test_topics_are_found_by_keyboard_and_sorted(visit: Visit) -> None:
    page = visit.open("/topics")
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("ord")
    expect(page.get_by_role("link", name="hostile")).to_have_count(0)
    expect(page).to_have_url(f"{visit.url}/topics?q=ord")
    page.get_by_label("Search topics").fill("")
    expect(page.get_by_role("link", name="hostile")).to_be_visible()
    page.get_by_role("button", name="Size").click()
    expect(page).to_have_url(f"{visit.url}/topics?sort=size&desc=true")
    expect(page.locator("tbody tr").first).to_contain_text("hostile")


def test_a_topic_is_created_changed_and_deleted_by_its_name(visit: Visit) -> None:
    page = visit.open("/topics")
    page.get_by_role("button", name="New topic").click()
    page.get_by_label("Name").fill("invoices")
    page.get_by_label("Partitions").fill("2")
    page.get_by_role("button", name="Create topic").click()
    expect(page.get_by_role("heading", name="invoices")).to_be_visible()
    expect(page.get_by_text("There are no messages here.")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("button", name="Change retention.ms", exact=True).click()
    page.get_by_label("Value").fill("3600000")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("this topic")).to_be_visible()
    page.get_by_role("link", name="Actions").click()
    delete = page.get_by_role("button", name="Delete topic")
    expect(delete).to_be_disabled()
    page.locator("section", has_text="Delete").last.get_by_role("textbox").fill("invoices")
    delete.click()
    expect(page).to_have_url(f"{visit.url}/topics")


def test_a_topic_is_grown_and_emptied_and_says_who_uses_it(visit: Visit) -> None:
    page = visit.open("/topics/payments?tab=readers")
    expect(page.get_by_text("No group has committed offsets in this topic.")).to_be_visible()
    expect(page.get_by_text("No producer is known here.")).to_be_visible()
    page.get_by_role("link", name="Messages").click()
    page.get_by_role("button", name="Send a message").click()
    page.get_by_role("textbox", name="Value").fill("paid")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Sent to partition 0, offset")).to_be_visible()
    page = visit.open("/topics/payments?tab=readers")
    expect(page.get_by_role("columnheader", name="Producer id")).to_be_visible()
    page.get_by_role("link", name="Actions").click()
    page.get_by_label("Partitions afterwards").fill("2")
    page.get_by_role("button", name="Add partitions").click()
    expect(page.get_by_text("Added partitions.")).to_be_visible()
    page.locator("section", has_text="Deletes all records").get_by_role("textbox").fill("payments")
    page.get_by_role("button", name="Delete all records").click()
    expect(page.get_by_text("Emptied payments.")).to_be_visible()
    page.get_by_role("link", name="Messages").click()
    expect(page.get_by_text("There are no messages here.")).to_be_visible()
    page.get_by_role("link", name="Partitions").click()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_messages_are_sent_again_and_downloaded(visit: Visit, tmp_path: Path) -> None:
    page = visit.open("/topics/orders?m=0:5")
    page.get_by_role("button", name="Send again…").click()
    page.get_by_role("button", name="Send a copy").click()
    expect(page.get_by_text("Sent to orders, partition")).to_be_visible()
    page = visit.open("/topics/orders?q=late")
    expect(page.get_by_text("Searched all")).to_be_visible()
    for label, ending in (("JSON", ".jsonl"), ("Parquet", ".parquet")):
        with page.expect_download() as download:
            page.get_by_role("link", name=f"↓ {label}").click()
        assert download.value.suggested_filename == f"orders{ending}"
        download.value.save_as(tmp_path / label)
        assert (tmp_path / label).stat().st_size > 0
    assert len((tmp_path / "JSON").read_text().splitlines()) >= 6


def test_messages_are_read_searched_sent_and_followed(visit: Visit) -> None:
    page = visit.open("/topics/orders")
    expect(page.locator(".messages tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Older messages").click()
    expect(page.locator(".messages tbody tr")).to_have_count(100)
    page.get_by_label("Search messages").fill("late")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Searched all: 6 found in")).to_be_visible()
    page.get_by_label("Kind of search").select_option("expression")
    page.get_by_label("Search messages").fill("$.n in [7, 8] or key == 'k9'")
    page.keyboard.press("Enter")
    expect(page.locator(".messages tbody tr")).to_have_count(3)
    page.get_by_label("Search messages").fill("import os")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("can't be read")
    visit.complaints.clear()  # of the answer 400, which was asked for
    page = visit.open("/topics/orders?live=true")
    expect(page.get_by_text("Following.")).to_be_visible()
    page.get_by_role("button", name="Send a message").click()
    page.get_by_role("textbox", name="Key").fill("by-hand")
    page.get_by_role("textbox", name="Value").fill('{"sent": "by the page"}')
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Sent to partition")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".messages tbody tr").first).to_contain_text("by the page")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused.")).to_be_visible()


def test_one_message_has_an_address_and_many_views(visit: Visit) -> None:
    page = visit.open("/topics/orders?m=0:3")
    panel = page.get_by_role("complementary")
    expect(panel.get_by_label("Value", exact=True)).to_contain_text('"n": 9')
    panel.get_by_role("group", name="Value as").get_by_role("button", name="hex").click()
    expect(panel.get_by_label("Value", exact=True)).to_contain_text("00000000  7b 22")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page).to_have_url(f"{visit.url}/topics/orders")


def test_hostile_content_is_only_text(visit: Visit) -> None:
    page = visit.open("/topics/hostile")
    expect(page.locator(".messages tbody tr")).to_have_count(4)
    expect(page.get_by_text("<script>document.title='pwned'</script>")).to_be_visible()
    expect(page.locator(".mark", has_text="U+202E")).to_have_count(1)
    expect(page.locator(".mark", has_text="\\x1b")).to_have_count(1)
    assert page.locator("main img, main script").count() == 0
    page.get_by_role("button", name="Open message 2 of partition 0").click()
    expect(page.get_by_text("the download has all 900 kB")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Open message 3 of partition 0").click(force=True)
    expect(page.get_by_label("Value", exact=True)).to_contain_text("000000f0  f0 f1")
    assert "pwned" not in page.title()


def test_a_group_is_moved_after_a_preview(visit: Visit) -> None:
    page = visit.open("/group?id=billing")
    # Other tests may have sent records there.
    expect(page.get_by_role("row", name=re.compile(r"orders 0 40 \d+ \d+"))).to_be_visible()
    page.get_by_role("link", name="Reset offsets").click()
    page.locator("label", has_text="so many records").get_by_role("combobox").select_option(
        "offset"
    )
    page.get_by_label("Number").fill("50")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("row", name="orders 0 40 50 +10")).to_be_visible()
    page.get_by_role("button", name="Apply this plan").click()
    expect(page.get_by_text("Moved the group.")).to_be_visible()
    page.get_by_role("link", name="Partitions").click()
    expect(page.get_by_role("row", name=re.compile(r"orders 0 50 \d+ \d+"))).to_be_visible()


def test_ctrl_k_goes_anywhere(visit: Visit) -> None:
    page = visit.open("/")
    expect(page.get_by_label("Health")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("bill")
    expect(page.get_by_role("option", name="Group billing")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{visit.url}/group?id=billing")
    page.go_back()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


@pytest.mark.parametrize(
    "path", ["/", "/topics", "/topics/orders", "/topics/orders?tab=settings", "/group?id=billing"]
)
def test_a_phone_needs_no_scrolling_to_the_side(
    browser: Browser, filled: barnabas.Cluster, console: ConsoleProcess, path: str
) -> None:
    phone = Visit(browser, console.url, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = phone.open(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("table, .plot").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.check()
    phone.close()


@pytest.mark.long
def test_axe_finds_nothing_on_any_page(
    browser: Browser, filled: barnabas.Cluster, console: ConsoleProcess
) -> None:
    pages = [(scheme, path) for scheme in ("light", "dark") for path in MAIN_PAGES]
    assert violations(browser, console, pages) == {}


def test_a_node_dies_while_the_page_is_open(visit: Visit, filled: barnabas.Cluster) -> None:
    page = visit.open("/")
    expect(page.get_by_text("controller")).to_be_visible()
    view = console_nodes(page)
    victim = next(node for node, is_controller in view.items() if not is_controller)
    filled.kill(victim)
    try:
        expect(page.get_by_text(f"Node {victim} has left the cluster")).to_be_visible()
        expect(page.get_by_label("Health")).to_contain_text(f"node {victim}")
        page.get_by_role("link", name="Topics", exact=True).click()
        expect(page.get_by_role("link", name="orders")).to_be_visible()
    finally:
        filled.restart(victim)
    page = visit.open("/")
    expect(page.get_by_text(f"Node {victim} has joined the cluster")).to_be_visible()
    wait_until(lambda: "under-replicated" not in page.inner_text("main"))
    visit.complaints.clear()  # a broker that was away may be an answer 502


def console_nodes(page: Page) -> dict[int, bool]:
    nodes = page.evaluate("fetch('/api/overview').then(r => r.json()).then(o => o.nodes)")
    return {each["id"]: each["controller"] for each in nodes}
