"""How soon a worker goes on with the state of another one that is killed.

    python -m benchmarks.state_takeover [--megabytes 1000] [--rounds 3] [--cold]

A broker, and two workers of an application whose handler keeps a value of 1 kB for each key, in
four partitions, exactly once. Each has a folder of its own, as if it were on another machine. A
record is sent to each partition every 50 ms. When each worker has copies of what the other one has,
one is killed (`kill -9`), and the time is taken until a result of each partition is committed that
was sent after the kill. The aim is two seconds, of which the group needs half of one to notice the
kill. `--cold` measures without standby copies.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

import barnabas

_PARTITIONS = 4
_VALUE = bytes(1000)
_PAUSE_S = 0.05
_PATIENCE_S = 600.0
_SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.disconnect.grace.ms": 500}
_TOPIC, _RESULTS, _CHANGELOG = "in", "out", "g.keep.kept.changelog"
_RESTORED = re.compile(r"of partition \d: restored [\d,]+ offsets in [\d.]+ s")
_SOURCE = """
import logging
import barnabas

logging.basicConfig(level="INFO")
app = barnabas.App(
    "{servers}", state_directory="{folder}", consumer_options={{"rebalance_timeout_ms": 3000}}
)


@app.handler(
    "in", group="g", name="keep", produces="out", exactly_once=True, standby={standby}
)
def keep(sent: str, kept: barnabas.State[bytes]) -> str:
    assert kept.exists
    kept.set(kept.get() or b"")
    return sent


app.run()
"""


class Worker:
    """A process of the application."""

    def __init__(self, folder: Path, servers: str, *, standby: bool) -> None:
        self._folder = folder
        self._arguments = {"servers": servers, "folder": folder / "state", "standby": standby}
        self._log = folder / "log"
        self.start()

    def start(self) -> None:
        """On a machine that has nothing of it."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        script = self._folder / "service.py"
        script.write_text(_SOURCE.format(**self._arguments))
        with self._log.open("wb") as log:
            self.process = subprocess.Popen([sys.executable, script], stderr=log)

    @property
    def restored(self) -> list[str]:
        """Lines of its log."""
        return _RESTORED.findall(self._log.read_text())

    @property
    def is_warm(self) -> bool:
        """Whether it has copies of two partitions, next to its own."""
        text = self._log.read_text()
        return len(re.findall(r"standby copy of partition \d: restored", text)) >= _PARTITIONS // 2

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        barnabas.Cluster(settings=_SETTINGS) as cluster,
    ):
        _fill(cluster, given.megabytes * 1_000_000 // len(_VALUE))
        took = _measure(cluster, Path(folder), given.rounds, standby=not given.cold)
    print(f"median {median(took):.2f} s, longest {max(took):.2f} s")


def _fill(cluster: barnabas.Cluster, keys: int) -> None:
    cluster.create_topic(_TOPIC, partitions=_PARTITIONS)
    cluster.create_topic(_RESULTS, partitions=_PARTITIONS)
    with barnabas.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(
            _CHANGELOG, partitions=_PARTITIONS, configs={"cleanup.policy": "compact"}
        )
    with barnabas.Producer(cluster.bootstrap_servers) as producer:
        for number in range(keys):
            partition = number % _PARTITIONS
            producer.send(_CHANGELOG, _VALUE, key=b"k%d" % number, partition=partition)
    print(f"{keys:,} values of {len(_VALUE):,} bytes")


def _measure(cluster: barnabas.Cluster, folder: Path, rounds: int, *, standby: bool) -> list[float]:
    servers = cluster.bootstrap_servers
    workers = [Worker(folder / str(each), servers, standby=standby) for each in range(2)]
    stop = threading.Event()
    sending = threading.Thread(target=_send, args=(servers, stop))
    sending.start()
    took = []
    try:
        with barnabas.Consumer(servers, _RESULTS, start="latest") as results:
            for number in range(rounds):
                _until_all(results, time.time())
                if standby:
                    _until_warm(workers)
                _until_all(results, time.time())
                leaving, staying = workers[number % 2], workers[1 - number % 2]
                before = len(staying.restored)
                killed = time.time()
                leaving.kill()
                took.append(_until_all(results, killed) - killed)
                print(f"round {number + 1}: {took[-1]:.2f} s; {staying.restored[before:]}")
                leaving.start()
    finally:
        stop.set()
        sending.join()
        for each in workers:
            each.kill()
    return took


def _send(servers: str, stop: threading.Event) -> None:
    """A record to each partition, with the time."""
    with barnabas.Producer(servers, linger_ms=0) as producer:
        while not stop.wait(_PAUSE_S):
            for each in range(_PARTITIONS):
                text = f"{each} {time.time()}".encode()
                producer.send(_TOPIC, text, key=b"k%d" % each, partition=each)


def _until_warm(workers: list[Worker]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not all(each.is_warm for each in workers):
        if time.monotonic() > deadline:
            raise RuntimeError("no standby copies")
        time.sleep(_PAUSE_S)


def _until_all(results: "barnabas.Consumer[bytes, bytes]", since: float) -> float:
    """When a result of each partition was there that was sent after a time."""
    left = set(range(_PARTITIONS))
    deadline = time.monotonic() + _PATIENCE_S
    while left:
        if time.monotonic() > deadline:
            raise RuntimeError(f"no results of partitions {left}")
        for each in results.poll(_PAUSE_S):
            partition, sent = each.value.split()
            if float(sent) > since:
                left.discard(int(partition))
    return time.time()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
