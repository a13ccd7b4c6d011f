"""Pipelines, connectors and dead letters in a real Chromium, against a real cluster."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

import barnabas
from barnabas.flow.requests import TOPIC as REQUESTS
from barnabas.flow.requests import PipelineRequest, decode
from tests.console.browser import WAIT_MS, Visit, chromium, violations
from tests.console.connect_service import ConnectService
from tests.console.console_process import ConsoleProcess
from tests.console.reports import report_of, reporting, write_letters, write_reports
from tests.support.wait import wait_until

expect.set_options(timeout=WAIT_MS)

ERROR = "/srv/shop.py:12: ValueError: amount <b>990</b> is too large"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def filled() -> Iterator[barnabas.Cluster]:
    """Two pipelines that work, one that has failed, and dead letters."""
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        with barnabas.Admin(servers) as admin:
            for topic in ("orders", "revenue", "bad-orders"):
                admin.create_topic(topic)
        table = report_of("revenue_table", reads=[["topic", "revenue"]], writes=[["files", "/t"]])
        failed = {"state": "failed", "error": ERROR, "failed_at": 1.0, "lag": None}
        large = report_of("large_orders", writes=[["postgres", "large"]], **failed)
        write_reports(
            servers, *(report_of("revenue", lag=lag, dead_letters=lag) for lag in range(5))
        )
        write_letters(servers, "bad-orders", "orders", b"not json", b"<img src=x>")
        with reporting(servers, report_of("revenue", lag=5, dead_letters=5), table, large):
            yield cluster


@pytest.fixture(scope="module")
def console(
    filled: barnabas.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    folder = tmp_path_factory.mktemp("connect")
    servers = filled.bootstrap_servers
    with (
        ConnectService(servers, folder) as connect,
        ConsoleProcess(servers, folder / "console.log", "--connect", connect.url) as running,
    ):
        yield running


@pytest.fixture
def visit(browser: Browser, console: ConsoleProcess) -> Iterator[Visit]:
    visit = Visit(browser, console.url, viewport={"width": 1280, "height": 860})
    yield visit
    visit.check()
    visit.close()


def test_the_graph_leads_to_a_pipeline_with_plots(visit: Visit) -> None:
    page = visit.open("/pipelines")
    graph = page.get_by_label("Graph of topics and pipelines")
    for name in ("orders", "revenue", "revenue_table", "large_orders", "/t", "postgres"):
        expect(graph.locator(".node", has_text=name).first).to_be_visible()
    expect(graph.locator(".edge text", has_text="120/s").first).to_be_visible()
    expect(graph.locator(".node.bad")).to_contain_text("large_orders")
    expect(graph.get_by_text("running, lag 5", exact=True)).to_be_visible()
    graph.locator(".node.pipeline", has_text="revenue_table").click()
    expect(page.get_by_role("heading", name="revenue_table")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="revenue", exact=True).last.click()
    expect(page.locator(".plot canvas")).to_have_count(7)
    expect(page.get_by_text("Watermark behind the clock")).to_be_visible()
    expect(page.get_by_text("120 records/s")).to_be_visible()
    page.get_by_text("Start, stop, new version where it runs").click()
    expect(
        page.get_by_text("barnabas pipeline run /srv/shop.py revenue --version v2")
    ).to_be_visible()


def test_labels_of_edges_that_cross_do_not_hide_each_other(visit: Visit) -> None:
    page = visit.open("/pipelines")
    places = page.evaluate("""async () => {
        const { withLabels } = await import("/static/lib/graph.js");
        const down = { edge: { rate: 1 }, points: [[0, 0], [60, 96]] };
        const up = { edge: { rate: 30 }, points: [[0, 64], [60, 32]] };
        const silent = { edge: { rate: 0, dead_letters: true }, points: [[0, 0], [60, 96]] };
        return withLabels([down, silent, up]).map((each) => each.at);
    }""")
    (_, height), silent, middle = places
    assert (middle, silent) == ([30, 48], None), "the flat edge has its label in the middle"
    assert abs(height - 48) >= 18


def test_a_pipeline_is_asked_to_restart(visit: Visit, filled: barnabas.Cluster) -> None:
    servers = filled.bootstrap_servers
    with barnabas.Admin(servers) as admin:
        admin.create_topic(REQUESTS, partitions=1, exist_ok=True)
    asked = report_of("asked", control="on", reads=[], writes=[], dead_letter_topics=[])
    with reporting(servers, asked) as (key,):
        page = visit.open("/pipelines")  # a page of its own is not there before the first report
        page.get_by_role("link", name="asked", exact=True).last.click()
        page.get_by_role("button", name="Restart").click()
        page.get_by_role("dialog").get_by_role("button", name="Restart").click()
        expect(page.get_by_text("Asked; waiting for its answer…")).to_be_visible()
        with barnabas.Consumer(servers) as consumer:
            consumer.assign({barnabas.TopicPartition(REQUESTS, 0): 0})

            def mine() -> PipelineRequest | None:
                found = [decode(each.value) for each in consumer.poll(1.0)]
                return next((each for each in found if each and each.pipeline == key), None)

            request = wait_until(mine)
        assert request[1:] == (key, 4711, "restart")
        # The pipeline goes on reporting: all its reports have the answer from now on.
        asked |= {"answered": request.id, "answer": "It was restarted.", "state": "stopped"}
        write_reports(servers, asked)
        expect(page.get_by_text("It was restarted.")).to_be_visible()
        expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
        visit.open("/pipelines")  # the page of this pipeline complains once it is gone


def test_an_error_has_its_place_in_the_code(visit: Visit) -> None:
    page = visit.open("/pipelines")
    page.get_by_role("link", name="large_orders").last.click()
    expect(page.locator(".place")).to_have_text("/srv/shop.py:12")
    expect(page.get_by_label("Error", exact=True)).to_have_text(
        "ValueError: amount <b>990</b> is too large"
    )


def test_dead_letters_are_looked_at_sent_back_and_deleted(visit: Visit) -> None:
    page = visit.open("/pipelines")
    page.get_by_role("link", name="bad-orders").last.click()
    expect(page.locator(".letters tbody tr")).to_have_count(2)
    page.get_by_label("Search in reasons").fill("img")
    expect(page.locator(".letters tbody tr")).to_have_count(1)
    page.get_by_label("Search in reasons").fill("")
    expect(page.locator(".letters tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Send back").click()
    page.get_by_role("dialog").get_by_role("button", name="Send back").click()
    expect(page.get_by_text("Sent back 2 to orders.")).to_be_visible()
    expect(page.get_by_text("sent back", exact=True)).to_have_count(2)
    page.get_by_role("link", name=re.compile("Open dead letter")).first.click()
    expect(page.get_by_text("dead-letter.reason")).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Delete those sent back").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("bad-orders")
    page.get_by_role("button", name="Delete dead letters").click()
    expect(page.get_by_text("There are no dead letters here.")).to_be_visible()


def test_a_connector_from_its_creation_to_its_end(visit: Visit) -> None:
    page = visit.open("/pipelines")
    page.get_by_role("button", name="New connector").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("large")
    dialog.get_by_role("button", name="Create connector").click()
    expect(page.get_by_role("heading", name="large", exact=True)).to_be_visible()
    expect(page.get_by_text("RUNNING").first).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("STOPPED").first).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("RUNNING").first).to_be_visible()
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_text("large restarts.")).to_be_visible()
    page.get_by_role("button", name="Change settings").click()
    dialog.get_by_label("Settings, as JSON").fill("{")
    dialog.get_by_role("button", name="Save and restart").click()
    expect(dialog.get_by_role("alert")).to_contain_text("not JSON")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New version").click()
    expect(dialog.get_by_label("Name")).to_have_value("large-v2")
    dialog.get_by_role("button", name="Start the new version").click()
    expect(page.get_by_role("heading", name="large-v2")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("textbox").fill("large-v2")
    dialog.get_by_role("button", name="Delete connector").click()
    expect(page).to_have_url(f"{visit.url}/pipelines")


def test_a_phone_scrolls_only_the_graph(browser: Browser, console: ConsoleProcess) -> None:
    phone = Visit(browser, console.url, viewport={"width": 390, "height": 844}, color_scheme="dark")
    for path in ("/pipelines", "/dead-letters?topic=bad-orders", "/pipeline?id=nothing"):
        page = phone.open(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.complaints.clear()  # of the answer 404, which was asked for
    phone.check()
    phone.close()


def test_axe_finds_nothing(browser: Browser, console: ConsoleProcess) -> None:
    pipeline = "/pipeline?id=vm%3A%2Fsrv%2Fpipelines%2F"
    pages = [
        ("light", "/pipelines"),
        ("dark", "/pipelines"),
        ("light", f"{pipeline}revenue"),
        ("dark", f"{pipeline}large_orders"),
    ]
    assert violations(browser, console, pages) == {}
