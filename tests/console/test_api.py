"""The API of a real console, asked without a browser; and what it refuses."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

import barnabas
from barnabas.console.api.endpoints import ENDPOINTS
from tests.console.console_process import ConsoleProcess
from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until


@pytest.fixture
def topic(cluster: barnabas.Cluster) -> str:
    name = f"orders-{uuid4().hex[:8]}"
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(name, partitions=3)
    return name


@pytest.fixture
def filled(cluster: barnabas.Cluster, topic: str) -> str:
    """A topic with a hundred records in three partitions, in order of time."""
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        for n in range(100):
            value = json.dumps({"n": n, "status": "late" if n % 10 == 0 else "new"}).encode()
            producer.send(topic, value, b"k%d" % n, partition=n % 3, timestamp_ms=1_000 + n)
    return topic


def numbers(answer: dict[str, list[dict[str, dict[str, str]]]]) -> list[int]:
    return [json.loads(each["value"]["text"])["n"] for each in answer["messages"]]


def is_own(console: ConsoleProcess, path: str, setting: str) -> bool:
    found = {each["name"]: each["own"] for each in console.get(f"{path}/settings")["settings"]}
    return bool(found[setting])


# -- topics ------------------------------------------------------------------------------------


def test_a_topic_from_creation_to_deletion(console: ConsoleProcess) -> None:
    name = f"made-{uuid4().hex[:8]}"
    settings = {"retention.ms": "60000"}
    body = {"name": name, "partitions": 2, "replication": 3, "settings": settings}
    console.change("POST", "/api/topics", body)
    path = f"/api/topics/{name}"
    described = console.get(path)
    assert [len(each["replicas"]) for each in described["partitions"]] == [3, 3]
    listed = wait_until(lambda: console.get(f"/api/topics?search={name}")["topics"])
    assert (listed[0]["name"], listed[0]["partitions"], listed[0]["lag"]) == (name, 2, None)
    found = {each["name"]: each for each in console.get(f"{path}/settings")["settings"]}
    assert (found["retention.ms"]["value"], found["retention.ms"]["own"]) == ("60000", True)
    assert "old" in found["cleanup.policy"]["explanation"]
    console.change("PUT", f"{path}/settings", {"settings": {"retention.ms": None}})
    wait_until(lambda: not is_own(console, path, "retention.ms"))  # any node answers
    console.change("POST", f"{path}/partitions", {"total": 4})
    wait_until(lambda: len(console.get(path)["partitions"]) == 4)
    status, _, body_bytes = console.try_change("DELETE", path, {"confirm": "another"})
    assert (status, b"not the name" in body_bytes) == (400, True)
    console.change("DELETE", path, {"confirm": name})
    wait_until(lambda: console.ask(path)[0] == 404)


def test_emptying_a_topic(console: ConsoleProcess, filled: str) -> None:
    console.change("POST", f"/api/topics/{filled}/empty", {"confirm": filled})
    described = console.get(f"/api/topics/{filled}")
    assert all(each["beginning"] == each["end"] for each in described["partitions"])
    assert console.get(f"/api/topics/{filled}/messages")["messages"] == []


# -- messages ----------------------------------------------------------------------------------


def test_newest_first_and_older_pages(console: ConsoleProcess, filled: str) -> None:
    path = f"/api/topics/{filled}/messages"
    seen, cursor = [], ""
    while True:
        page = console.get(f"{path}?limit=30{cursor}")
        seen += numbers(page)
        if page["cursor"] is None:
            break
        cursor = f"&cursor={page['cursor']}"
    assert seen == list(range(99, -1, -1))


def test_from_the_beginning_an_offset_and_a_time(console: ConsoleProcess, filled: str) -> None:
    path = f"/api/topics/{filled}/messages"
    page = console.get(f"{path}?from=beginning&limit=40")
    assert numbers(page) == list(range(40))
    rest = console.get(f"{path}?from=beginning&limit=500&cursor={page['cursor']}")
    assert (numbers(rest), rest["cursor"]) == (list(range(40, 100)), None)
    assert numbers(console.get(f"{path}?from=offset&start=30&partition=1")) == [91, 94, 97]
    assert numbers(console.get(f"{path}?from=time&at=1095")) == [95, 96, 97, 98, 99]


def test_following_a_topic(console: ConsoleProcess, filled: str) -> None:
    path = f"/api/topics/{filled}"
    tail = console.get(f"{path}/messages?limit=1")["tail"]
    assert console.get(f"{path}/tail?cursor={tail}")["messages"] == []
    sent = console.change("POST", f"{path}/messages", {"key": "new", "value": "hello"})
    after = console.get(f"{path}/tail?cursor={tail}")
    assert [each["value"]["text"] for each in after["messages"]] == ["hello"]
    assert after["messages"][0]["offset"] == sent["offset"]
    assert console.get(f"{path}/tail?cursor={after['cursor']}")["messages"] == []


def lines(console: ConsoleProcess, path: str) -> list[dict[str, dict[str, object]]]:
    status, _, body = console.ask(path)
    assert status == 200, body
    return [json.loads(line) for line in body.splitlines()]


def test_searching_by_words_and_by_an_expression(console: ConsoleProcess, filled: str) -> None:
    path = f"/api/topics/{filled}/search"
    said = lines(console, f"{path}?query=LATE&from=beginning")
    assert len([each for each in said if "match" in each]) == 10
    assert said[-1]["done"] == {"scanned": 100, "total": 100, "matches": 10, "complete": True}
    query = "%24.n%20%3E%3D%2098%20or%20key%20%3D%3D%20%22k5%22"  # $.n >= 98 or key == "k5"
    said = lines(console, f"{path}?mode=expression&query={query}")
    assert len([each for each in said if "match" in each]) == 3
    status, _, body = console.ask(f"{path}?mode=expression&query=exec(1)")
    assert (status, b"unknown name" in body or b"not possible" in body) == (400, True)


def test_a_download_can_be_read_again(
    console: ConsoleProcess, filled: str, cluster: barnabas.Cluster
) -> None:
    status, headers, body = console.ask(f"/api/topics/{filled}/download?query=late")
    assert (status, len(body.splitlines())) == (200, 10)
    assert headers["content-disposition"] == f'attachment; filename="{filled}.jsonl"'
    assert json.loads(body.splitlines()[0])["topic"] == filled


def test_sending_binary_headers_tombstones_and_copies(
    console: ConsoleProcess, topic: str, cluster: barnabas.Cluster
) -> None:
    path = f"/api/topics/{topic}/messages"
    body = {"key": "a", "value": "ff00", "value_encoding": "hex", "headers": [["h", "1"]]}
    sent = console.change("POST", path, {**body, "partition": 2})
    assert sent == {"partition": 2, "offset": 0}
    one = console.get(f"{path}/2/0")
    assert (one["value"]["kind"], one["value"]["text"]) == ("binary", "ff00")
    assert one["headers"][0]["name"] == "h"
    assert console.ask(f"{path}/2/0/value")[2] == b"\xff\x00"
    console.change("POST", path, {"key": "a", "partition": 1})
    assert console.get(f"{path}/1/0")["value"]["kind"] == "null"
    again = console.change("POST", f"{path}/2/0/send-again", {})
    copy = console.get(f"{path}/{again['partition']}/{again['offset']}")
    assert (copy["value"], copy["key"], copy["headers"]) == (
        one["value"],
        one["key"],
        one["headers"],
    )
    status, _, answer = console.ask(f"{path}/0/999")
    assert (status, b"no record at offset 999" in answer) == (404, True)


def test_transactions_are_marked(
    console: ConsoleProcess, topic: str, cluster: barnabas.Cluster
) -> None:
    servers = cluster.bootstrap_servers
    with barnabas.Producer(servers, transactional_id=f"tx-{topic}") as producer:
        with producer.transaction():
            producer.send(topic, b"kept", partition=0)
        with suppress(ZeroDivisionError), producer.transaction():
            producer.send(topic, b"dropped", partition=0)
            producer.flush()
            _ = 1 / 0
    (writer,) = console.get(f"/api/topics/{topic}/writers")["writers"]
    assert (writer["partitions"], writer["in_transaction"]) == ([0], False)
    read = console.get(f"/api/topics/{topic}/messages")["messages"]
    states = {each["value"]["text"]: each["transaction"] for each in read}
    assert states == {"kept": "committed", "dropped": "aborted"}


# -- groups ------------------------------------------------------------------------------------


def test_a_group_is_shown_planned_moved_and_deleted(
    console: ConsoleProcess, filled: str, cluster: barnabas.Cluster
) -> None:
    group = f"billing/{filled}"
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.set_group_offsets(group, {barnabas.TopicPartition(filled, 0): 30})
    query = f"/api/group?id={group.replace('/', '%2F')}"
    shown = console.get(query)
    lags = {each["partition"]: each["lag"] for each in shown["partitions"]}
    assert (lags, shown["state"]) == ({0: 4, 1: 33, 2: 33}, "Empty")
    listed = wait_until(lambda: console.get(f"/api/groups?search={filled}")["groups"])
    assert (listed[0]["id"], listed[0]["lag"]) == (group, 4)
    shown = console.get(query)  # the headline is what the list and the plot say
    assert (shown["lag"], shown["uncommitted"]) == (4, 66)
    assert {lag for _, lag in shown["history"]} == {4}
    assert len(shown["history"]) > 1
    readers = console.get(f"/api/topics/{filled}/readers")["groups"]
    assert [each["id"] for each in readers] == [group]
    asked = {"id": group, "to": "offset", "number": 3, "topic": filled}
    plan = console.change("POST", "/api/group/reset", asked)
    assert (plan["executed"], plan["plan"][0]["change"]) == (False, -27)
    assert console.get(query)["partitions"][0]["committed"] == 30
    console.change("POST", "/api/group/reset", {**asked, "execute": True})
    assert [each["committed"] for each in console.get(query)["partitions"]] == [3, 3, 3]
    console.change("DELETE", "/api/group", {"id": group, "confirm": group})
    assert console.ask(query)[0] == 404


# -- cluster -----------------------------------------------------------------------------------


def test_the_overview_has_nodes_health_and_plots(console: ConsoleProcess) -> None:
    seen = wait_until(lambda: (found := console.get("/api/overview"))["health"]["level"] and found)
    assert [each["state"] for each in seen["nodes"]] == ["up", "up", "up"]
    assert sum(each["controller"] for each in seen["nodes"]) == 1
    assert (seen["error"], bool(seen["series"])) == (None, True)
    shown = console.get("/api/cluster")
    assert len(shown["quorum"]["voters"]) == 3
    assert {each["node"] for each in shown["disks"]} == {1, 2, 3}
    settings = console.get("/api/cluster/nodes/1/settings")["settings"]
    assert any(each["name"] == "num.partitions" and each["value"] == "3" for each in settings)


def test_internal_partitions_are_counted_for_themselves(
    cluster: barnabas.Cluster, console: ConsoleProcess, filled: str
) -> None:
    """Findings are about them too, so that the overview names both numbers."""
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.set_group_offsets(f"reader of {filled}", {barnabas.TopicPartition(filled, 0): 3})

    def are_counted() -> bool:
        listed = console.get("/api/topics?internal=true&size=200")["topics"]
        totals = console.get("/api/overview")["totals"]
        internal = sum(each["partitions"] for each in listed if each["internal"])
        public = sum(each["partitions"] for each in listed if not each["internal"])
        counted = totals["partitions"], totals["internal_partitions"]
        return internal > 0 and counted == (public, internal)

    wait_until(are_counted)


def test_what_the_cluster_has_no_use_for_is_empty_and_no_error(console: ConsoleProcess) -> None:
    assert console.get("/api/transactions/hanging") == {"hanging": []}
    assert console.get("/api/quotas")["quotas"] == []
    assert console.get("/api/pipelines")["pipelines"] == []
    assert console.get("/api/connectors")["configured"] is False
    found = console.get("/api/find?query=nothing-like-it")
    assert found == {"topics": [], "groups": [], "pipelines": []}


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "10.0.0.1:80"])
def test_another_name_of_the_host_is_refused(console: ConsoleProcess, host: str) -> None:
    for path in ("/", "/api/overview", "/static/app.js"):
        status, headers, _ = console.ask(path, headers={"Host": host})
        assert status in (400, 421)
        assert status == 400 or headers["x-frame-options"] == "DENY"


def test_a_change_without_the_token_or_from_elsewhere_is_refused(console: ConsoleProcess) -> None:
    body = {"name": "stolen"}
    for headers in (
        {},
        {"X-Barnabas-Token": "guessed"},
        {"X-Barnabas-Token": console.token, "Sec-Fetch-Site": "cross-site"},
        {"X-Barnabas-Token": console.token, "Sec-Fetch-Site": "same-site"},
    ):
        status, _, _ = console.ask("/api/topics", method="POST", body=body, headers=headers)
        assert status == 403
    for path in ("/api/topics/x/search", "/api/topics/x/download", "/api/overview"):
        assert console.ask(path, headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    for endpoint in ENDPOINTS:
        if endpoint.changes:
            path = endpoint.path.replace("{", "").replace("}", "")
            status, _, _ = console.ask(path, method=endpoint.method, body={})
            assert status == 403, endpoint.path
    assert console.ask("/api/topics/stolen")[0] == 404


def test_every_answer_has_the_headers_that_defend_it(console: ConsoleProcess) -> None:
    for path in ("/", "/topics/x", "/api/session", "/api/nothing", "/static/app.js", "/nothing"):
        _, headers, _ = console.ask(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2foptions.py",
        "/static//etc/passwd",
        "/api/../app.py",
    ],
)
def test_no_path_leads_out_of_the_files_of_the_page(console: ConsoleProcess, path: str) -> None:
    _, _, body = console.ask(path)
    assert b"import" not in body
    assert b"root:" not in body


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/topics/no-such-topic", "look at the list"),
        ("/api/topics?page=0", "page: at least 1"),
        ("/api/topics?page=x", "expected a whole number"),
        ("/api/topics?sort=__class__", "sort: use name"),
        ("/api/group?id=", "id: it is empty"),
        ("/api/topics/x/tail?cursor=1", "PARTITION:OFFSET"),
        ("/api/nothing", "openapi.json"),
    ],
)
def test_errors_say_what_to_do(console: ConsoleProcess, path: str, said: str) -> None:
    status, _, body = console.ask(path)
    assert 400 <= status < 500
    error = json.loads(body)["error"]
    assert said in f"{error['message']} {error['hint']}"


def test_the_api_documents_itself(console: ConsoleProcess) -> None:
    document = console.get("/api/openapi.json")
    assert document["openapi"].startswith("3.1")
    described = {
        (path, method.upper()) for path, each in document["paths"].items() for method in each
    }
    session = {("/api/session", method) for method in ("GET", "POST", "DELETE")}
    assert described == {(each.path, each.method) for each in ENDPOINTS} | session
    names = [call["operationId"] for each in document["paths"].values() for call in each.values()]
    assert len(names) == len(set(names))


# -- other ways to start it --------------------------------------------------------------------


def test_read_only_masked_and_audited(
    cluster: barnabas.Cluster, filled: str, tmp_path: Path
) -> None:
    topic = f"audit-{filled}"
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(topic, partitions=1)
    options = ("--mask", f"{filled}:$.n", "--audit-topic", topic)
    with ConsoleProcess(cluster.bootstrap_servers, tmp_path / "a.log", *options) as console:
        read = console.get(f"/api/topics/{filled}/messages?limit=5")
        assert {json.loads(each["value"]["text"])["n"] for each in read["messages"]} == {"•••"}
        said = lines(console, f"/api/topics/{filled}/search?query=99")
        assert not [each for each in said if "match" in each and "k99" not in str(each)]
        status, _, _ = console.try_change(
            "POST", f"/api/topics/{filled}/messages/0/0/send-again", {"to": topic}
        )
        assert status == 403
        console.change("PUT", f"/api/topics/{filled}/settings", {"settings": {"segment.ms": "1"}})
        entries = [
            json.loads(each["value"]["text"])
            for each in console.get(f"/api/topics/{topic}/messages")["messages"]
        ]
        assert [each["outcome"] for each in entries if "settings" in each["operation"]] == [
            "done",
            "asked",
        ]
    with ConsoleProcess(cluster.bootstrap_servers, tmp_path / "b.log", "--read-only") as console:
        status, _, body = console.try_change("POST", "/api/topics", {"name": "never"})
        assert (status, b"read-only" in body) == (403, True)
        assert console.ask("/api/topics/never")[0] == 404


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--listen", "0.0.0.0:0"), "users have to sign in"),
        (("--listen", "0.0.0.0:0", "--sign-in"), "--insecure-http if a proxy"),
        (("--listen", "localhost:99999"), "expected HOST:PORT"),
        (("--certificate", "x.pem"), "--key"),
        (("--mask", "orders"), "TOPICS:PART"),
        (("--sign-in", "--audit-topic", "audit"), "sasl.username and sasl.password of a user"),
    ],
)
def test_a_console_that_makes_no_sense_does_not_start(options: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "barnabas", "console", "--no-browser", *options]
    done = fork_server.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_console_of_a_cluster_that_is_away_starts_and_says_so(tmp_path: Path) -> None:
    with ConsoleProcess("127.0.0.1:1", tmp_path / "log") as console:
        seen = console.get("/api/session")
        assert seen["signed_in"]
        status, _, body = console.ask("/api/overview")
        assert (status, b"Check that the brokers run" in body) == (502, True)
        console.process.terminate()
        assert console.process.wait(LIMIT_S) == 143
