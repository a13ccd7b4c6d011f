"""The guarantee of the pattern "unique jobs": whatever gatekeepers die, each id passes once."""

import random
import signal
import subprocess
import sys
from collections import Counter

import barnabas
from tests.examples.documents import ROOT
from tests.support.wait import LIMIT_S, wait_until

SETTINGS = {
    "group.disconnect.grace.ms": 100,
    "group.initial.rebalance.delay.ms": 0,
}
IDS, REQUESTS, DEATHS = 150, 450, 3
GATEKEEPER = """
import os, random, signal, sys
import barnabas
from examples import unique_jobs

servers, name, seed = sys.argv[1:]
left = random.Random(seed).randint(1, 40) if seed else 0


class Mortal(barnabas.Producer):
    def __init__(self, *arguments, **options):
        timeout_ms = 5_000 if left else 60_000  # the next one waits for its end
        super().__init__(*arguments, **options, transaction_timeout_ms=timeout_ms)

    def send(self, *arguments):
        global left
        sent = super().send(*arguments)
        left -= 1
        if not left:
            sent.result()
            os.kill(os.getpid(), signal.SIGKILL)
        return sent


unique_jobs.Producer = Mortal
unique_jobs.admit(servers, 10**9, name)
"""
"""It kills itself in the middle of a transaction."""


def test_each_id_passes_once_though_gatekeepers_are_killed() -> None:
    chance = random.Random(5)
    wanted = [f"id-{number % IDS}" for number in range(REQUESTS)]
    chance.shuffle(wanted)
    with barnabas.Cluster(settings=SETTINGS) as cluster:
        servers = cluster.bootstrap_servers
        for topic in ("requests", "jobs"):
            cluster.create_topic(topic, partitions=2)
        cluster.create_topic("seen", configs={"cleanup.policy": "compact"})
        with barnabas.Producer(servers, key_format="str") as producer:
            for name in wanted:
                producer.send("requests", b"job", name)

        def gatekeeper(number: int, *, seed: str = "") -> subprocess.Popen[bytes]:
            """Each has a name of its own: nobody ends the transaction of one that has died."""
            words = [sys.executable, "-c", GATEKEEPER, servers, f"gatekeeper-{number}", seed]
            return subprocess.Popen(words, cwd=ROOT)

        for number in range(DEATHS):
            assert gatekeeper(number, seed=f"{number}").wait(LIMIT_S) == -signal.SIGKILL
        last = [gatekeeper(DEATHS + number) for number in range(2)]
        try:
            with barnabas.Admin(servers) as admin:
                wait_until(lambda: sum(admin.group_offsets("gatekeeper").values()) == REQUESTS)
        finally:
            for each in last:
                each.kill()
                each.wait()
        found: Counter[str] = Counter()
        with barnabas.Consumer(
            servers, "jobs", key_format="str", isolation="read_committed"
        ) as consumer:
            while found.total() < IDS:
                found.update(each.key for each in consumer.poll(LIMIT_S))
            # What came twice is in its partition before the last job, or just behind it.
            found.update(each.key for each in consumer.poll(0.5))
    assert found == dict.fromkeys(wanted, 1)
