"""`barnabas app run`: workers, probes, metrics, mistakes, and a clean end."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import barnabas
from barnabas.embedded.ports import HOST, Ports
from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until

SOURCE = """
import os, sys, barnabas

app = barnabas.App("localhost:1")

@app.handler("{topic}", group="g-{topic}", produces="{topic}-out", dead_letters="{topic}-dead")
def handle(value: str) -> str:
    if value == "poison":
        raise ValueError("no")
    return f"{{value}} by {{os.getpid()}}"
"""


@pytest.fixture
def port() -> Iterator[int]:
    """One of two neighbours that no other process gets: each worker has a port of its own."""
    while True:
        with closing(Ports(1)) as ports, socket.socket() as neighbour:
            (number,) = ports.numbers
            try:
                neighbour.bind((HOST, number + 1))
            except OSError:
                continue
            # Held without listening: a server, which reuses addresses, can listen there.
            neighbour.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            yield number
            return


def fetch(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LIMIT_S) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def command(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return fork_server.Popen(
        [sys.executable, "-m", "barnabas", "app", "run", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=LIMIT_S)
    return output


def results(servers: str, topic: str, count: int) -> list[str]:
    found: list[str] = []
    with barnabas.Consumer(servers, topic, value=str) as consumer:
        while len(found) < count:
            found += [each.value for each in consumer.poll(120)]
    return found


def test_two_workers_share_the_work_and_end_cleanly(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path, port: int
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out")
    (tmp_path / "service.py").write_text(SOURCE.format(topic=topic))
    arguments = ["service:app", "--workers", "2", "--http", f"127.0.0.1:{port}", "-b", servers]
    arguments += ["--log-format", "json"]
    process = command(tmp_path, *arguments)
    try:
        for each in (port, port + 1):
            wait_until(lambda each=each: fetch(each, "/readyz") == "ok\n" or process.poll())
        with barnabas.Producer(servers, value=str) as producer:
            for number in range(40):
                producer.send(topic, str(number), partition=number % 4)
            producer.send(topic, "poison")
        found = results(servers, f"{topic}-out", 40)
        assert sorted(int(each.split()[0]) for each in found) == list(range(40))
        handled = 'barnabas_app_dead_letters_total{handler="handle"} 1'
        wait_until(lambda: handled in fetch(port, "/metrics") + fetch(port + 1, "/metrics"))
    finally:
        process.send_signal(signal.SIGTERM)
        output = ended(process)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    lines = [json.loads(each) for each in output.splitlines() if each.startswith("{")]
    (given_up,) = [each for each in lines if "ValueError: no" in each["message"]]
    assert given_up["topic"] == topic
    assert given_up["handler"] == "handle"
    assert {"partition", "offset", "time", "level"} <= given_up.keys()


def test_workers_with_state_that_anyone_could_read_are_not_started(tmp_path: Path) -> None:
    """The supervisor ends, instead of starting them again and again."""
    source = 'import barnabas\napp = barnabas.App("localhost:1", serves_state=True)\n'
    (tmp_path / "service.py").write_text(source)
    process = command(tmp_path, "service:app", "--workers", "2", "--http", "0.0.0.0:0")
    try:
        output = ended(process)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 2
    assert output.startswith("error: --http 0.0.0.0: anyone who reaches it could read the state")
    assert output.count("\n") == 1


def test_workers_of_a_killed_supervisor_end(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path, port: int
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out")
    (tmp_path / "service.py").write_text(SOURCE.format(topic=topic))
    arguments = ["service:app", "--workers", "2", "--http", f"127.0.0.1:{port}", "-b", servers]
    process = command(tmp_path, *arguments)
    try:
        for each in (port, port + 1):
            wait_until(lambda each=each: fetch(each, "/readyz") == "ok\n" or process.poll())
    finally:
        process.kill()
    ended(process)  # when no process has its output open any more


def test_a_change_restarts_the_workers(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out")
    source = tmp_path / "service.py"
    source.write_text(SOURCE.format(topic=topic))
    process = command(tmp_path, "service:app", "--reload", "-b", servers)
    try:
        with barnabas.Producer(servers, value=str) as producer:
            producer.send(topic, "a").result(LIMIT_S)
            assert results(servers, f"{topic}-out", 1)[0].startswith("a by")
            time.sleep(0.01)  # so that the time of the file differs
            source.write_text(SOURCE.format(topic=topic).replace(" by ", " again by "))
            producer.send(topic, "b").result(LIMIT_S)
            wait_until(
                lambda: (
                    producer.send(topic, "c").result(LIMIT_S)
                    and any("again" in each for each in results(servers, f"{topic}-out", 1))
                )
            )
    finally:
        process.send_signal(signal.SIGINT)
        output = ended(process)
    assert process.returncode == 0, output
    assert "a file has changed: restarting" in output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing:app", "no module 'nothing'"),
        ("service:other", "service has no App named 'other'; there is app"),
        (":app", "write MODULE:NAME"),
    ],
)
def test_mistakes_are_told_in_one_line(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(SOURCE.format(topic="t"))
    process = command(tmp_path, name)
    output = ended(process)
    assert process.returncode in (1, 2)
    assert said in output
    assert "Traceback" not in output


STUCK = """
import time, asyncio, barnabas

app = barnabas.App("localhost:1")

@app.handler("{topic}", group="g-{topic}", retries=0{options})
{kind} handle(value: str) -> None:
    print("begun", flush=True)
    {call}(3600)
"""


@pytest.mark.parametrize(
    ("kind", "call", "options", "workers"),
    [
        ("def", "time.sleep", "", 1),
        ("def", "time.sleep", "", 2),
        ("async def", "await asyncio.sleep", "", 1),
        ("async def", "await asyncio.sleep", ", share=True", 1),
        ("async def", "await asyncio.sleep", ", exactly_once=True", 1),
    ],
    ids=["function", "two-workers", "coroutine", "share", "exactly-once"],
)
def test_records_that_take_too_long_come_again_after_a_service_is_stopped(
    app_broker: barnabas.Cluster,
    topic: str,
    tmp_path: Path,
    kind: str,
    call: str,
    options: str,
    workers: int,
) -> None:
    """As systemd and Kubernetes do it: SIGTERM, a while, SIGKILL."""
    servers = app_broker.bootstrap_servers
    (tmp_path / "service.py").write_text(
        STUCK.format(topic=topic, kind=kind, call=call, options=options)
    )
    arguments = ["service:app", "-b", servers, "--grace", "0.2", "--workers", str(workers)]
    process = command(tmp_path, *arguments)
    try:
        assert process.stdout is not None
        with barnabas.Producer(servers, value=str) as producer:
            producer.send(topic, "a").result(LIMIT_S)
        while process.stdout.readline() != "begun\n":
            assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        output = ended(process)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert "come again" in output
    with barnabas.Admin(servers) as admin:
        group = admin.describe_group(f"g-{topic}")
        assert not group.members, "it has not left"
        assert sum(each.lag or 0 for each in group.offsets.values()) == 1 or not group.offsets
