"""The service on a real broker and a real Spark: its API, its connectors, its failover."""

import json
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from tests.connect.loud_words import LOUD, words
from tests.connect.service import Service
from tests.examples.documents import ROOT, run, steps
from tests.support import fork_server
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S, wait_until

pytestmark = [pytest.mark.drivers, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("broker")) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def service(broker: str, folder: Path) -> Iterator[Service]:
    service = Service(folder, "first", broker)
    yield service
    service.close()


@pytest.fixture(scope="module")
def standby(broker: str, folder: Path, service: Service) -> Iterator[Service]:
    wait_until(lambda: "leads" in service.log.read_text(), service.said)
    standby = Service(folder, "second", broker)
    yield standby
    standby.close()


def test_the_api_has_the_shapes_of_kafka_connect(service: Service, standby: Service) -> None:
    about = service.get("/")
    assert about.keys() == {"version", "commit", "kafka_cluster_id"}
    assert service.get("/connectors") == []
    config = {**LOUD, "tasks.max": 1}
    made = wait_until(lambda: _created(service, "shapes", config, "STOPPED"))
    assert made.headers["Location"] == "/connectors/shapes"
    texts = {**LOUD, "tasks.max": "1", "name": "shapes"}
    assert made.body == {"name": "shapes", "config": texts, "tasks": [], "type": "sink"}
    service.wait_for_state("shapes", "STOPPED")
    assert service.get("/connectors/shapes/config") == texts
    assert service.get("/connectors/shapes/tasks") == []
    assert service.get("/connectors/shapes/topics") == {"shapes": {"topics": []}}
    assert service.get("/connectors/shapes/offsets") == {"offsets": []}
    shown = service.get("/connectors/shapes/status")
    assert shown["connector"] == {"state": "STOPPED", "worker_id": service.url[7:]}
    both = service.get("/connectors?expand=info&expand=status")["shapes"]
    assert both.keys() == {"info", "status"}
    # The instance that stands by says the same, and passes on what only the leader may do.
    wait_until(lambda: standby.get("/connectors") == ["shapes"])
    changed = standby.call(
        "PATCH", "/connectors/shapes/config", {"tasks.max": None, "trigger": "1 second"}
    )
    assert changed.status == 200, changed
    assert "tasks.max" not in changed.body["config"]
    assert service.get("/connectors/shapes/config")["trigger"] == "1 second"
    assert standby.call("PUT", "/connectors/shapes/config", LOUD).status == 200
    assert service.call("DELETE", "/connectors/shapes").status == 204
    assert service.get("/connectors") == []


def _created(service: Service, name: str, config: object, state: str):  # type: ignore[no-untyped-def]
    body = {"name": name, "config": config, "initial_state": state}
    found = service.call("POST", "/connectors", body)
    assert found.status in (201, 409), found  # 409: it does not lead yet
    return found if found.status == 201 else None


def test_errors_have_the_shapes_of_kafka_connect(service: Service, standby: Service) -> None:
    wait_until(lambda: _created(service, "errs", LOUD, "STOPPED"))
    again = service.call("POST", "/connectors", {"name": "errs", "config": LOUD})
    assert again[:2] == (409, {"error_code": 409, "message": "Connector errs already exists"})
    for method, path in (
        ("GET", "/connectors/nix"),
        ("GET", "/connectors/nix/status"),
        ("PUT", "/connectors/nix/pause"),
        ("POST", "/connectors/nix/restart"),
        ("DELETE", "/connectors/nix"),
    ):
        found = service.call(method, path)
        assert found[:2] == (404, {"error_code": 404, "message": "Connector nix not found"})
    bad = service.call("POST", "/connectors", {"name": "x", "config": {**LOUD, "trigger": "soon"}})
    assert bad.status == 400
    assert "contains the following 1 error(s)" in bad.body["message"]
    other = service.call("PUT", "/connectors/x/config", {**LOUD, "name": "y"})
    assert other.status == 400
    for offsets in ([], [{}], [{"partition": {"kafka_topic": "nix"}}]):
        found = service.call("PATCH", "/connectors/errs/offsets", {"offsets": offsets})
        assert found.status == 400
    assert service.call("GET", "/nothing").status == 404
    assert service.call("DELETE", "/connectors").status == 405
    assert service.call("POST", "/connectors", [1]).status == 400
    plain = {"Content-Type": "text/plain"}
    assert service.call("POST", "/connectors", {}, plain).status == 415
    rebound = {"Host": "rebound.example", "Accept-Language": "en"}
    for page in ({"Origin": "http://elsewhere.example"}, rebound):
        assert service.call("POST", "/connectors", {}, page).status == 403
    assert service.call("POST", "/connectors", {"name": "x" * 2_000_000}).status == 413
    assert service.call("DELETE", "/connectors/errs").status == 204


def test_requests_that_are_none_are_answered(service: Service) -> None:
    host, port = service.url[7:].split(":")
    for sent in (
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nno header\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://[\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        b"POST /connectors HTTP/1.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
        b"GET / HTTP/1.1\r\nx: " + b"x" * 100_000 + b"\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
            connection.sendall(sent)
            assert connection.recv(100).startswith(b"HTTP/1.1 4"), sent[:40]
    assert service.get("/connectors") == []


def test_plugins_and_loggers(service: Service) -> None:
    plugins = {each["class"] for each in service.get("/connector-plugins")}
    assert {"from_files", "to_parquet", "pipeline"} < plugins
    config = {"connector.class": "to_parquet", "name": "x", "topics": "t", "pth": "p"}
    found = service.call("PUT", "/connector-plugins/to_parquet/config/validate", config).body
    wrong = {
        each["value"]["name"]: each["value"]["errors"]
        for each in found["configs"]
        if each["value"]["errors"]
    }
    assert found["error_count"] == len(wrong) == 1
    assert "Missing required setting" in wrong["path"][0]
    settings = service.get("/connector-plugins/to_parquet/config")
    assert "partition.by" in {each["name"] for each in settings}
    assert service.call("GET", "/connector-plugins/nix/config").status == 404
    assert service.call("PUT", "/admin/loggers/barnabas.connect", {"level": "debug"}).body == [
        "barnabas.connect"
    ]
    assert service.get("/admin/loggers/barnabas.connect")["level"] == "DEBUG"
    assert service.get("/admin/loggers")["root"]["last_modified"] is None
    assert service.call("PUT", "/admin/loggers/root", {"level": "loud"}).status == 404


def test_every_snippet_of_the_page_runs(
    service: Service, broker: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ROOT / "docs" / "connect.md"
    monkeypatch.setenv("BARNABAS_CONNECT_URL", service.url)
    orders = re.search(r"^```json\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert orders is not None
    (folder / "orders.json").write_text(orders[1])
    service.wait_until_ready()
    for step in steps(page):
        run(step, broker, folder, timeout_s=LIMIT_S)
    assert service.get("/connectors") == []


def test_connectors_run_pause_and_fail_alone(service: Service, broker: str, folder: Path) -> None:
    with barnabas.Admin(broker) as admin, barnabas.Producer(broker, value_format="json") as send:
        admin.create_topic("words")
        service.wait_until_ready()
        assert service.call("POST", "/connectors", {"name": "loud", "config": LOUD}).status == 201
        bad = {**LOUD, "transform.sql": "SELECT nix FROM source", "topic": "bad"}
        assert service.call("POST", "/connectors", {"name": "bad", "config": bad}).status == 201
        failing = {**LOUD, "transform.sql": "SELECT raise_error('oh no') AS word FROM source"}
        failing |= {"topic": "fails", "restarts.max": "1"}
        body = {"name": "fails", "config": failing}
        assert service.call("POST", "/connectors", body).status == 201
        send.send("words", {"word": "one"})
        send.flush()
        assert words(broker, "loud", 1) == ["ONE"]
        service.wait_for_state("bad", "FAILED")
        assert "nix" in service.get("/connectors/bad/status")["connector"]["trace"]
        wait_until(lambda: service.get("/connectors/fails/tasks/0/status")["state"] == "FAILED")
        assert "oh no" in service.get("/connectors/fails/tasks/0/status")["trace"]
        assert service.call("DELETE", "/connectors/fails").status == 204
        service.wait_for_state("loud", "RUNNING")
        assert service.get("/connectors/loud/topics") == {"loud": {"topics": ["loud", "words"]}}
        assert service.get("/connectors/loud/tasks/0/status")["state"] == "RUNNING"
        with urllib.request.urlopen(f"{service.url}/metrics", timeout=LIMIT_S) as answer:
            metrics = answer.read().decode()
        assert 'kafka_connect_connector_status{connector="bad",status="failed"} 1\n' in metrics
        assert 'barnabas_pipeline_rows_in_total{pipeline="loud"} 1\n' in metrics
        assert service.call("PUT", "/connectors/bad/config", {**LOUD, "topic": "bad"}).status == 200
        service.wait_for_state("bad", "RUNNING")  # mended

        assert service.call("PUT", "/connectors/loud/pause").status == 202
        service.wait_for_state("loud", "PAUSED")
        send.send("words", {"word": "two"})
        send.flush()
        assert words(broker, "bad", 2) == ["ONE", "TWO"]  # while the other one goes on
        assert words(broker, "loud", 1) == ["ONE"]
        assert service.call("PUT", "/connectors/loud/resume").status == 202
        assert words(broker, "loud", 2) == ["ONE", "TWO"]
        offset = {"kafka_topic": "words", "kafka_partition": 0}
        wait_until(
            lambda: (
                service.get("/connectors/loud/offsets")["offsets"]
                == [{"partition": offset, "offset": {"kafka_offset": 2}}]
            )
        )
        assert service.call("DELETE", "/connectors/loud/offsets").status == 400  # it runs
        assert service.call("PUT", "/connectors/bad/stop").status == 202
        service.wait_for_state("bad", "STOPPED")
        assert service.call("DELETE", "/connectors/bad/offsets").status == 200
        assert service.get("/connectors/bad/offsets") == {"offsets": []}
        again = {"offsets": [{"partition": offset, "offset": {"kafka_offset": 1}}]}
        altered = service.call("PATCH", "/connectors/bad/offsets", again)
        assert altered.status == 200, altered
        assert service.call("PUT", "/connectors/bad/resume").status == 202
        assert words(broker, "bad", 3) == ["ONE", "TWO", "TWO"]
        for each in ("loud", "bad"):
            assert service.call("DELETE", f"/connectors/{each}").status == 204


def test_the_command_line_manages_connectors(service: Service) -> None:
    def cli(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "barnabas", "connect", *arguments, "--url", service.url]
        return fork_server.run(command, capture_output=True, text=True, check=False)

    wait_until(lambda: _created(service, "listed", LOUD, "STOPPED"))
    service.wait_for_state("listed", "STOPPED")
    listed = cli("list")
    assert listed.returncode == 0, listed
    assert listed.stdout.splitlines()[1].split()[:4] == ["listed", "STOPPED", "sink", "to_topic"]
    assert json.loads(cli("status", "listed", "--json").stdout)["name"] == "listed"
    assert "topics=words" in cli("config", "listed").stdout
    missing = cli("status", "nix")
    assert (missing.returncode, missing.stderr) == (1, "error: Connector nix not found\n")
    assert cli("plugins").stdout.count("to_parquet") == 1
    assert cli("delete", "listed").returncode == 0
