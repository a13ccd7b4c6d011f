"""The pages of a schema registry: subjects, versions beside each other, checks of a change."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

import barnabas
from barnabas.console.schemas.versions import Line, line_differences, readable
from barnabas.formats.registered.client import RegistryClient
from tests.console.browser import WAIT_MS, Visit, chromium
from tests.console.console_process import ConsoleProcess
from tests.registry.registry_process import registries

expect.set_options(timeout=WAIT_MS)

SUBJECT = "orders-value"


def avro(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": fields})


ID = {"name": "id", "type": "string"}
NOTE = {"name": "note", "type": "string", "default": ""}
HOSTILE = {**NOTE, "name": "hostile", "doc": "<img src=x onerror=document.title='pwned'>"}
TOTAL = {"name": "total", "type": "double"}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A registry with two versions of one subject, and thirty others."""
    folder = tmp_path_factory.mktemp("registry")
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        with barnabas.Admin(servers) as admin:
            admin.create_topic("orders")
        with registries(folder, servers) as make:
            url = make().url
            registry = RegistryClient(url)
            for subject, schema in (
                (SUBJECT, avro(ID)),
                (SUBJECT, avro(ID, NOTE, HOSTILE)),
                *((f"bulk-{n:02}", '"string"') for n in range(30)),
            ):
                registry.call("POST", "subjects", subject, "versions", body={"schema": schema})
            with ConsoleProcess(servers, folder / "console.log", "--registry", url) as running:
                yield running


def test_subjects_are_listed_and_searched(console: ConsoleProcess) -> None:
    first = console.get("/api/schemas")
    assert (first["total"], len(first["subjects"])) == (31, 25)
    last = console.get("/api/schemas?page=2")
    assert last["subjects"][-1] == {
        "subject": SUBJECT,
        "versions": 2,
        "version": 2,
        "id": 2,
        "type": "AVRO",
    }
    assert console.get("/api/schemas?search=ORD")["total"] == 1


def test_a_subject_says_who_uses_it(console: ConsoleProcess) -> None:
    found = console.get(f"/api/schemas/subject?subject={SUBJECT}")
    assert found["versions"] == [1, 2]
    assert found["topics"] == ["orders"]
    assert found["compatibility"] == "BACKWARD"
    status, _, body = console.ask("/api/schemas/subject?subject=nix")
    assert (status, b"not found" in body) == (404, True)


def test_a_change_is_checked_and_not_registered(console: ConsoleProcess) -> None:
    def check(schema: str) -> dict[str, object]:
        found: dict[str, object] = console.change(
            "POST", "/api/schemas/check", {"subject": SUBJECT, "schema": schema}
        )
        return found

    assert check(avro(ID, NOTE)) == {"compatible": True, "reasons": []}
    refused = check(avro(ID, TOTAL))
    assert refused["compatible"] is False
    assert "total" in str(refused["reasons"])
    assert console.get(f"/api/schemas/subject?subject={SUBJECT}")["versions"] == [1, 2]
    body = {"subject": SUBJECT, "schema": "{"}
    status, _, answer = console.try_change("POST", "/api/schemas/check", body)
    assert (status, b"nvalid" in answer) == (400, True)


def test_lines_that_are_the_same_are_in_one_row() -> None:
    assert line_differences("a\nb\nc", "a\nc\nd") == [
        Line("a", "a", True),
        Line("b", None, False),
        Line("c", "c", True),
        Line(None, "d", False),
    ]
    assert readable("AVRO", '{"a":1}') == '{\n  "a": 1\n}'
    assert readable("AVRO", "{") == "{"
    assert readable("PROTOBUF", '{"a":1}') == '{"a":1}'


def test_without_a_registry_the_page_says_how_to_have_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    log = tmp_path_factory.mktemp("console") / "console.log"
    with barnabas.Cluster() as cluster, ConsoleProcess(cluster.bootstrap_servers, log) as console:
        assert console.get("/api/schemas")["configured"] is False
        status, _, body = console.ask("/api/schemas/subject?subject=x")
        assert (status, b"--registry URL" in body) == (409, True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def test_the_pages_in_a_browser(browser: Browser, console: ConsoleProcess) -> None:
    visit = Visit(browser, console.url, viewport={"width": 1280, "height": 860})
    page = visit.open("/schemas")
    page.get_by_label("Search subjects").fill("orders")
    page.get_by_role("link", name=SUBJECT).click()
    expect(page.get_by_role("heading", name=SUBJECT)).to_be_visible()
    expect(page.get_by_role("link", name="orders", exact=True)).to_be_visible()
    expect(page.locator(".beside .new", has_text='"note"')).to_be_visible()
    expect(page.locator(".beside .new", has_text="onerror")).to_be_visible()
    page.locator("select").first.select_option("2")
    expect(page.locator("pre", has_text='"note"')).to_be_visible()
    page.locator("#changed").fill(avro(ID, TOTAL))
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_contain_text("total")
    assert page.title() == f"{SUBJECT} · Barnabas"
    visit.check()
    visit.close()
