"""Transactions that a killed worker has left open: its successor rolls them back at once.

The timeout of the transactions is longer than a test may take, so nothing here waits for it.
"""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import barnabas
from barnabas.client.admin.abandoned_transactions import is_abandoned
from barnabas.client.admin.transactions import list_transactions
from barnabas.client.connect.cluster_client import ClusterClient
from tests.support.wait import wait_until, wait_until_async

SOURCE = """
import asyncio, os, sys, barnabas
from barnabas.client.producer.transactional_id import TransactionalId

async def hang(*_arguments, **_options):
    open("{stuck}", "w").close()
    await asyncio.Event().wait()

if sys.argv[1] == "first":
    TransactionalId.end = hang

app = barnabas.App("{servers}", consumer_options={{"group_protocol": "{protocol}"}})

@app.handler(
    "{topic}", group="g-{topic}", produces="{topic}-out", exactly_once=True,
    transaction_timeout_s=600,
)
async def handle(number: str) -> str:
    return number

app.run()
"""


def start(folder: Path, which: str) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "service.py", which], cwd=folder, stdout=log, stderr=log
        )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_killed_worker_s_transaction_is_rolled_back_by_its_successor(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path, protocol: str
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out")
    stuck = tmp_path / "stuck"
    (tmp_path / "service.py").write_text(
        SOURCE.format(servers=servers, topic=topic, stuck=stuck, protocol=protocol)
    )
    with barnabas.Producer(servers) as producer:
        for number in range(20):
            producer.send(topic, b"%d" % number, key=b"%d" % number)
    workers = [start(tmp_path, "first")]
    try:
        # Offsets and results are in a transaction that only misses its end.
        wait_until(stuck.exists, lambda: (tmp_path / "log").read_text())
        workers[0].send_signal(signal.SIGKILL)
        workers.append(start(tmp_path, "second"))
        found: list[int] = []
        with barnabas.Consumer(servers, f"{topic}-out") as consumer:

            def look() -> bool:
                found.extend(int(each.value) for each in consumer.poll(0.1))
                return len(found) >= 20

            wait_until(look, lambda: (tmp_path / "log").read_text()[-3000:])
        assert sorted(found) == list(range(20))
    finally:
        for each in workers:
            each.kill()
            each.wait()
    log = (tmp_path / "log").read_text()
    assert log.count("is gone, and its open transaction is rolled back") == 1, log


@pytest.mark.parametrize(
    ("transactional_id", "expected"),
    [
        pytest.param("g.pay.0a.dead", True, id="nobody has this member id"),
        pytest.param("g.pay.0a.title-1", False, id="a member"),
        pytest.param("g.pay.0a.my.title-2", False, id="a member whose id has a dot"),
        pytest.param("g.pay.0b.dead", False, id="another handler"),
        pytest.param("g.pay.dead", False, id="not from an application"),
    ],
)
def test_only_ids_of_this_handler_without_a_member_are_abandoned(
    transactional_id: str, expected: bool
) -> None:
    members = {"title-1", "my.title-2"}
    assert is_abandoned(transactional_id, "g.pay.0a.", members) is expected


def test_a_worker_that_lives_is_known_by_its_transactional_id(
    app_broker: barnabas.Cluster, topic: str
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out")
    app = barnabas.App(servers)

    @app.handler(topic, group=f"g-{topic}", produces=f"{topic}-out", exactly_once=True)
    async def handle(number: str) -> str:
        return number

    async def run() -> tuple[list[str], str]:
        async with barnabas.aio.Producer(servers) as producer, app.started():
            await (await producer.send(topic, b"1"))
            async with barnabas.aio.Consumer(servers, f"{topic}-out") as consumer:
                await wait_until_async(lambda: consumer.poll(0.1))
            async with ClusterClient(servers) as cluster:
                listed = [each.transactional_id for each in await list_transactions(cluster)]
            _, source = app._runners("handle")[0]
            return listed, source.membership.member_id

    listed, member_id = asyncio.run(run())
    prefix = app.handlers["handle"].worker_id_prefix
    assert [each for each in listed if each.startswith(prefix)] == [prefix + member_id]
