"""Workers with state that are killed under load: the counts of exactly-once handlers are exact."""

import random
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import barnabas
from tests.support.wait import wait_until

KEYS = 20
SOURCE = """
import logging, os, random, time, barnabas

logging.basicConfig(level="INFO", format=f"%(asctime)s {{os.getpid()}} %(name)s %(message)s")

app = barnabas.App(
    "{servers}", consumer_options={{"session_timeout_ms": 6000}}, state_directory="state"
)
failed = set()

@app.handler(
    "{topic}", group="g-{topic}", name="count", concurrency=3, retries=1, backoff="1ms",
    produces="{topic}-out", exactly_once=True, max_batch=20, transaction_timeout_s=15,
    standby={standby},
)
def count(number: str, total: barnabas.State[int]) -> str:
    time.sleep(random.random() * 0.002)
    new = total.update(lambda old: old + 1, 0)
    if int(number) % 10 == 3 and number not in failed:
        failed.add(number)
        raise ConnectionError("at first")
    return str(new)

app.run()
"""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "service.py"], cwd=folder, stdout=log, stderr=log)


@pytest.mark.parametrize("standby", [False, True])
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.long)])
def test_counts_are_exact(
    app_broker: barnabas.Cluster, topic: str, tmp_path: Path, kills: int, standby: bool
) -> None:
    servers = app_broker.bootstrap_servers
    app_broker.create_topic(f"{topic}-out", partitions=2)
    source = SOURCE.format(servers=servers, topic=topic, standby=standby)
    (tmp_path / "service.py").write_text(source)
    chance = random.Random(kills)
    workers = [start(tmp_path) for _ in range(2)]
    counts: defaultdict[bytes, list[int]] = defaultdict(list)
    sent = 0
    with (
        barnabas.Producer(servers, linger_ms=0) as producer,
        barnabas.Consumer(servers, f"{topic}-out") as consumer,
    ):

        def handled() -> int:
            for message in consumer.poll(0.2):
                counts[message.key].append(int(message.value))
            return sum(map(len, counts.values()))

        def log() -> str:
            return (tmp_path / "log").read_text()[-3000:]

        try:
            for _ in range(kills):
                for _ in range(100):
                    producer.send(topic, b"%d" % sent, key=b"k%d" % (sent % KEYS))
                    sent += 1
                producer.flush()
                target = min(sent, handled() + chance.randrange(1, 100))
                wait_until(lambda target=target: handled() >= target, log)
                at = chance.randrange(2)
                workers[at].send_signal(signal.SIGKILL)
                workers[at].wait()
                workers[at] = start(tmp_path)
            wait_until(lambda: handled() >= sent, log)
        finally:
            for each in workers:
                each.kill()
                each.wait()
        handled()
    expected = {b"k%d" % key: list(range(1, sent // KEYS + 1)) for key in range(KEYS)}
    assert counts == expected
    state = barnabas.Table(servers, f"g-{topic}.count.total.changelog", value_format="int")
    with state as kept:
        assert dict(kept.items()) == {key: seen[-1] for key, seen in counts.items()}
