"""What pages of other sites, strange requests and slow clients can't do."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

import barnabas
from tests.console.browser import WAIT_MS
from tests.console.console_process import ConsoleProcess
from tests.support.http_server import HttpServer
from tests.support.machine import find_tool, missing
from tests.support.wait import wait_until

expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster() as running:
        with barnabas.Admin(running.bootstrap_servers) as admin:
            admin.create_topic("orders", partitions=1)
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for which evil.test is a name of this machine."""
    program = find_tool("chromium")
    if program is None:
        pytest.skip(missing("chromium"))
    rules = "--host-resolver-rules=MAP evil.test 127.0.0.1"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program.resolve(), args=["--no-sandbox", rules], timeout=WAIT_MS
        )
        yield running
        running.close()


def topics(console: ConsoleProcess) -> list[str]:
    return [each["name"] for each in console.get("/api/topics")["topics"]]


def raw(console: ConsoleProcess, request: bytes) -> bytes:
    """What is answered to these bytes, until the console closes the connection."""
    address = urlsplit(console.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 60) as connection:
        connection.sendall(request)
        return received(connection)


def received(connection: socket.socket) -> bytes:
    answer = b""
    with suppress(ConnectionError):  # it may be closed before all was read
        while part := connection.recv(65536):
            answer += part
    return answer


PAGE = """<!doctype html><title>evil</title>
<form id="form" method="post" enctype="text/plain" action="{url}/api/topics" target="sink">
<input name='{{"name": "by-form", "x": "' value='"}}'></form>
<iframe name="sink"></iframe><iframe id="frame" src="{url}/topics"></iframe>
<script>
window.read = [];
const body = JSON.stringify({{name: "by-script"}});
const headers = {{"Content-Type": "application/json"}};
const tries = [
  fetch("{url}/api/session").then((r) => r.text()),
  fetch("{url}/api/session", {{credentials: "include"}}).then((r) => r.text()),
  fetch("{url}/api/topics", {{method: "POST", body, headers}}),
  fetch("{url}/api/topics", {{method: "POST", body, mode: "no-cors"}}).then((r) => r.type),
];
Promise.allSettled(tries).then((all) => {{
  window.read = all.map((each) => each.status === "fulfilled" ? each.value : "refused");
  document.getElementById("form").submit();
  document.title = "done";
}});
</script>"""


def test_a_page_of_another_site_reads_and_changes_nothing(
    console: ConsoleProcess, browser: Browser
) -> None:
    server = HttpServer(
        lambda _: (200, PAGE.format(url=console.url).encode(), {"Content-Type": "text/html"})
    )
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(server.url)
    expect(page).to_have_title("done")
    assert page.evaluate("window.read") == ["refused"] * 4
    wait_until(lambda: any("frame-ancestors" in each or "frame" in each for each in complaints))
    frame = next(each for each in page.frames if each.parent_frame and not each.name)
    assert frame.locator("#app").count() == 0
    assert not {"by-form", "by-script"} & set(topics(console))
    page.close()
    server.close()


def test_a_name_that_was_pointed_here_gets_nothing(
    console: ConsoleProcess, browser: Browser
) -> None:
    page = browser.new_page()
    answer = page.goto(f"http://evil.test:{urlsplit(console.url).port}/api/session")
    assert answer is not None
    assert answer.status == 421
    assert console.token not in page.content()
    page.close()


HOSTILE = (
    b"<script>document.title='pwned'</script>",
    b"<img src=x onerror=\"document.title='pwned'\">",
    b'{"a": "</script><svg onload=document.title=\'pwned\'>"}',
    b"javascript:document.title='pwned'",
    "\u202e\u2066evil\u2069\x00\x1b]0;pwned\x07".encode(),
)


def test_content_runs_nowhere(
    console: ConsoleProcess, browser: Browser, cluster: barnabas.Cluster
) -> None:
    """As key, value, header, error, search, and as an answer that is opened by itself."""
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        for each in HOSTILE:
            name = each.decode().replace("\x00", "")
            producer.send("orders", each, each, headers=[(name, each)], partition=0)
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    payload = "%3Cimg%20src=x%20onerror=%22document.title='pwned'%22%3E"
    for path in (
        "/topics/orders",
        *(f"/topics/orders?m=0:{offset}" for offset in range(len(HOSTILE))),
        f"/topics/orders?q={payload}",
        f"/topics/{payload}",
        f"/group?id={payload}",
        f"/topics?q={payload}",
        f"/sign-in?problem={payload}",
        f"/{payload}",
    ):
        page.goto(console.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.locator("main img, main script, main svg[onload]").count() == 0
        assert page.title() != "pwned"
    for path in (
        "/api/topics/orders/messages",
        f"/api/topics/{payload}",
        "/api/topics/orders/messages/0/0/value",
        f"/api/{payload}",
    ):
        _, headers, body = console.ask(path)
        assert headers["x-content-type-options"] == "nosniff"
        assert "html" not in headers["content-type"]
        if "json" in headers["content-type"]:
            assert b"<" not in body
    assert wrong == []
    page.close()


@pytest.mark.parametrize(
    "path",
    [
        "/api/topics/orders%0d%0aSet-Cookie:a=b/download",
        "/api/topics/%22;%20filename=%22evil.exe/download",
        "/api/topics/orders/messages/0/0%0d%0aX:y/value",
        "/sign-in/%0d%0aSet-Cookie:a=b",
    ],
)
def test_no_header_is_injected(console: ConsoleProcess, path: str) -> None:
    status, headers, _ = console.ask(path)
    assert status in (400, 404)
    assert "set-cookie" not in headers
    assert "content-disposition" not in headers


def test_strange_requests_are_refused(console: ConsoleProcess) -> None:
    host = f"Host: {urlsplit(console.url).netloc}\r\n".encode()
    end = b"Connection: close\r\n\r\n"
    two = b"GET /api/session HTTP/1.1\r\n" + host + b"Host: evil.test\r\n" + end
    assert raw(console, two).startswith(b"HTTP/1.1 400")
    none = b"GET /api/session HTTP/1.0\r\n\r\n"
    assert raw(console, none).startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))
    absolute = b"GET http://evil.test/api/session HTTP/1.1\r\n" + host + end
    assert b"token" not in raw(console, absolute)
    smuggled = (
        b"POST /api/topics HTTP/1.1\r\n"
        + host
        + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"
        + end
        + b"0\r\n\r\nGET /api/session HTTP/1.1\r\n"
        + host
        + end
    )
    assert raw(console, smuggled).count(b"HTTP/1.1 ") == 1
    long = b"GET /api/session HTTP/1.1\r\n" + host + b"X: " + b"a" * 200_000 + b"\r\n" + end
    assert raw(console, long).startswith(b"HTTP/1.1 400")
    upgrade = host + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    asked = (
        b"GET / HTTP/1.1\r\n" + upgrade + b"Sec-WebSocket-Key: aaaaaaaaaaaaaaaaaaaaaa==\r\n" + end
    )
    assert not raw(console, asked).startswith(b"HTTP/1.1 101")
    assert console.get("/api/session")["signed_in"] is True


def test_a_body_that_is_too_large_is_not_kept(console: ConsoleProcess) -> None:
    head = (
        b"POST /api/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"X-Barnabas-Token: " + console.token.encode() + b"\r\nTransfer-Encoding: chunked\r\n"
        b"Connection: close\r\n\r\n"
    )
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    address = urlsplit(console.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 60) as connection:
        connection.sendall(head)
        with suppress(OSError):  # it closes the connection
            for _ in range(64):
                connection.sendall(chunk)
        answer = received(connection)
    assert not answer or answer.startswith(b"HTTP/1.1 413")
    deep = b"[" * 100_000
    request = (
        b"POST /api/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"X-Barnabas-Token: " + console.token.encode() + b"\r\nConnection: close\r\n"
        b"Content-Length: " + str(len(deep)).encode() + b"\r\n\r\n" + deep
    )
    assert raw(console, request).startswith(b"HTTP/1.1 400")
    assert console.get("/api/session")["signed_in"] is True


def test_many_searches_of_a_user_are_refused(
    console: ConsoleProcess, cluster: barnabas.Cluster
) -> None:
    """Each holds memory; those that are left by their browsers end."""
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic("many", partitions=1)
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        for n in range(10_000):
            producer.send("many", b"%d" % n * 300)
    address = urlsplit(console.url)
    path = "/api/topics/many/download?limit=1000000"
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    open_ones = []
    for _ in range(8):
        connection = socket.create_connection((address.hostname or "", address.port or 0), 60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(request)
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        open_ones.append(connection)
    status, _, body = console.ask(path)
    assert (status, "running already" in json.loads(body)["error"]["message"]) == (429, True)
    for connection in open_ones:
        connection.close()
    wait_until(lambda: console.ask("/api/topics/many/download?limit=1")[0] == 200)
