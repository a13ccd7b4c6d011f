"""Workers, brokers and the database are killed in turn, under a random workload.

Three nodes, two workers that write each record to a PostgreSQL, and a producer that goes on. The
function fails at random, and always for a few records. At the end:

- each record is in the database or among the dead letters, and all that are poison are there;
- results of a key came first in the order of their records, apart from those that were given up;
- with `exactly_once`, each record has one result; without, at least one;
- attempts of a poison record are counted: dead letters say how many.
"""

import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from tests.support.wait import wait_until

KEYS = 8
SOURCE = """
import random, psycopg, barnabas

app = barnabas.App("{servers}", consumer_options={{"session_timeout_ms": 10_000}})

@app.handler(
    "orders", group="billing", concurrency=4, retries=4, backoff="300ms",
    dead_letters="dead", produces="out", exactly_once={exactly_once}, max_batch=20,
    transaction_timeout_s=30,
)
def handle(number: str) -> str:
    if int(number) % 40 == 7:
        raise ValueError("poison")
    if random.random() < 0.05:
        raise ConnectionError("at random")
    with psycopg.connect("{database}", connect_timeout=5) as database:
        database.execute("INSERT INTO bills VALUES (%s)", (int(number),))
    return number

app.run()
"""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "service.py"], cwd=folder, stdout=log, stderr=log)


def killing(
    cluster: barnabas.Cluster, database: Any, workers: "list[subprocess.Popen[bytes]]"
) -> Iterator[str]:
    """Kills one thing each time it is asked; workers are started again by the test."""
    chance = random.Random(11)
    kinds = ["worker", "broker", "database", "worker", "broker", "worker"]
    chance.shuffle(kinds)
    for kind in kinds:
        if kind == "worker":
            workers[chance.randrange(len(workers))].send_signal(signal.SIGKILL)
        elif kind == "broker":
            node = chance.choice((1, 2, 3))
            cluster.kill(node)
            cluster.restart(node)
        else:
            database.kill()
            database.start()
        yield kind


@pytest.mark.long
@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
def test_nothing_is_lost_or_out_of_order(tmp_path: Path, exactly_once: bool) -> None:
    pytest.importorskip("psycopg")
    from tests.support.postgres import Postgres

    count = 400
    poison = {number for number in range(count) if number % 40 == 7}
    results: defaultdict[bytes, list[int]] = defaultdict(list)
    dead: dict[int, list[int]] = defaultdict(list)
    database = Postgres()
    settings = {"group.initial.rebalance.delay.ms": 0, "min.insync.replicas": 2}
    with barnabas.Cluster(nodes=3, settings=settings) as cluster:
        for name in ("orders", "out", "dead"):
            cluster.create_topic(name, partitions=4, replication_factor=3)
        with database.connect() as connection:
            connection.execute("CREATE TABLE bills (number int)")
        servers = cluster.bootstrap_servers
        (tmp_path / "service.py").write_text(
            SOURCE.format(servers=servers, database=database.url, exactly_once=exactly_once)
        )
        workers = [start(tmp_path) for _ in range(2)]
        try:
            with (
                barnabas.Producer(servers) as producer,
                barnabas.Consumer(servers, ["out", "dead"]) as consumer,
            ):
                kills = killing(cluster, database, workers)

                def look() -> bool:
                    for at, worker in enumerate(workers):
                        if worker.poll() is not None:
                            workers[at] = start(tmp_path)
                    for message in consumer.poll(0.2):
                        if message.topic == "dead":
                            attempts = dict(message.headers)["dead-letter.deliveries"]
                            dead[int(message.value)].append(int(attempts or 0))
                        else:
                            results[message.key].append(int(message.value))
                    done = {each for numbers in results.values() for each in numbers} | set(dead)
                    return len(done) == count

                for step in range(8):
                    for number in range(step * count // 8, (step + 1) * count // 8):
                        producer.send("orders", b"%d" % number, key=b"k%d" % (number % KEYS))
                    producer.flush()
                    before = sum(map(len, results.values()))
                    wait_until(
                        lambda before=before: (  # type: ignore[misc]
                            look() or sum(map(len, results.values())) > before
                        ),
                        lambda: (tmp_path / "log").read_text()[-2000:],
                    )
                    next(kills, None)
                wait_until(look, lambda: (tmp_path / "log").read_text()[-3000:])
            with database.connect() as connection:
                billed = {row[0] for row in connection.execute("SELECT number FROM bills")}
        finally:
            for each in workers:
                each.kill()
                each.wait()
            database.close()
    assert poison <= set(dead)
    assert set(range(count)) - set(dead) <= billed
    for numbers in results.values():
        # One that was given up while the database was away may be handled again after a kill.
        firsts = list(dict.fromkeys(each for each in numbers if each not in dead))
        assert firsts == sorted(firsts)
    if exactly_once:
        assert all(len(numbers) == len(set(numbers)) for numbers in results.values())
        assert all(len(each) == 1 for each in dead.values())
    assert all(set(attempts) == {5} for attempts in dead.values())
