"""Workers that are killed: nothing is lost, keys stay in order, dead letters are complete.

Each worker is a process that is killed with SIGKILL again and again, while records come in. Some
records fail once, a few always. Results carry the id of their record.
"""

import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

import barnabas
from tests.support.wait import wait_until

KEYS = 8
SOURCE = """
import random, time, barnabas

app = barnabas.App("{servers}", consumer_options={{"session_timeout_ms": 6000}})
failed = set()

@app.handler(
    "{topic}", group="g-{topic}", concurrency=4, retries=1, backoff="10ms",
    dead_letters="{topic}-dead", produces="{topic}-out", exactly_once={exactly_once}, max_batch=20,
    transaction_timeout_s=15,
)
async def handle(number: str) -> str:
    time.sleep(random.random() * 0.004)
    if int(number) % 50 == 7:
        raise ValueError("poison")
    if int(number) % 10 == 3 and number not in failed:
        failed.add(number)
        raise ConnectionError("at first")
    return number

app.run()
"""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "service.py"], cwd=folder, stdout=log, stderr=log)


@pytest.mark.parametrize(
    "exactly_once",
    [
        pytest.param(False, id="at-least-once"),
        pytest.param(True, id="exactly-once", marks=pytest.mark.long),
    ],
)
def test_killed_workers_lose_nothing(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    servers = app_broker.bootstrap_servers
    count = 400
    poison = {number for number in range(count) if number % 50 == 7}
    for name in ("out", "dead"):
        app_broker.create_topic(f"{topic}-{name}", partitions=2)
    source = SOURCE.format(servers=servers, topic=topic, exactly_once=exactly_once)
    (tmp_path / "service.py").write_text(source)
    chance = random.Random(7)
    workers = [start(tmp_path) for _ in range(2)]
    results: defaultdict[bytes, list[int]] = defaultdict(list)
    dead: list[int] = []
    kills = 0
    with (
        barnabas.Producer(servers, linger_ms=0) as producer,
        barnabas.Consumer(servers, [f"{topic}-out", f"{topic}-dead"]) as consumer,
    ):

        def look() -> bool:
            for message in consumer.poll(0.2):
                if message.topic.endswith("dead"):
                    dead.append(int(message.value))
                else:
                    results[message.key].append(int(message.value))
            done = {each for numbers in results.values() for each in numbers} | set(dead)
            return len(done) == count

        try:
            sent = 0
            while sent < count:
                for _ in range(50):
                    producer.send(topic, b"%d" % sent, key=b"k%d" % (sent % KEYS))
                    sent += 1
                producer.flush()
                before = sum(map(len, results.values()))
                wait_until(lambda before=before: look() or sum(map(len, results.values())) > before)
                if kills < 3:
                    at = chance.randrange(2)
                    workers[at].send_signal(signal.SIGKILL)
                    workers[at].wait()
                    workers[at] = start(tmp_path)
                    kills += 1
            wait_until(look, lambda: (tmp_path / "log").read_text()[-3000:])
            if exactly_once:  # what is not committed yet would come now
                time.sleep(0.5)
                look()
        finally:
            for each in workers:
                each.kill()
                each.wait()
    assert set(dead) == poison
    for numbers in results.values():
        firsts = list(dict.fromkeys(numbers))
        assert firsts == sorted(firsts)  # the first result of each record, in the order of its key
    if exactly_once:
        assert sorted(dead) == sorted(poison)
        assert all(len(numbers) == len(set(numbers)) for numbers in results.values())
