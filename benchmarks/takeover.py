"""How soon a second instance of `barnabas connect` goes on when the first is killed.

    python -m benchmarks.takeover [--rounds 3]

A broker, two instances of the service, and a connector from topic to topic, exactly once. A record
is sent every tenth of a second. The instance that leads is killed with its Spark (`kill -9`), and
the time is taken until the first record that was sent afterwards is in the topic of results. The
aim is ten seconds. The instance that was killed is then started again, to stand by; the next round
begins when `/health` says that it could take over.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Self

import psutil

import barnabas

_LISTENING = re.compile(r"listening on (http://\S+)")
_PATIENCE_S = 180.0
_PAUSE_S = 0.1
_CONNECTOR = {
    "name": "takeover",
    "config": {
        "connector.class": "to_topic",
        "topics": "takeover-in",
        "topic": "takeover-out",
        "source.schema": "number BIGINT",
        "transform.sql": "SELECT number FROM source",
    },
}


class _Instance:
    """One `barnabas connect run`."""

    def __init__(self, folder: Path, name: str, servers: str) -> None:
        self.name = name
        self._log = folder / f"{name}-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "barnabas", "connect", "run", "-b", servers, "--port", "0"]
        command += ["--checkpoints", str(folder / "checkpoints"), "--master", "local[2]"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        self.url = _LISTENING.findall(self._wait_for(_LISTENING))[0]

    def _wait_for(self, pattern: "re.Pattern[str]") -> str:
        deadline = time.monotonic() + _PATIENCE_S
        while not pattern.search(text := self._log.read_text(errors="replace")):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not start:\n{text[-3000:]}")
            time.sleep(_PAUSE_S)
        return text

    @property
    def leads(self) -> bool:
        return "leads" in self._log.read_text(errors="replace")

    def create(self, connector: object) -> bool:
        """Whether it was created; an instance that has just started may not lead yet."""
        data = json.dumps(connector).encode()
        request = urllib.request.Request(
            f"{self.url}/connectors", data, {"Content-Type": "application/json"}
        )
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError:
            return False
        return True

    def is_healthy(self) -> bool:
        """Whether its Spark is warm."""
        try:
            urllib.request.urlopen(f"{self.url}/health", timeout=60).close()
        except urllib.error.HTTPError:
            return False
        return True

    def kill(self) -> None:
        below = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        for each in below:
            with suppress(psutil.NoSuchProcess):  # it has ended with its parent
                each.kill()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with barnabas.Cluster() as cluster, tempfile.TemporaryDirectory() as directory:
        servers, folder = cluster.bootstrap_servers, Path(directory)
        with barnabas.Admin(servers) as admin:
            for topic in ("takeover-in", "takeover-out"):
                admin.create_topic(topic, partitions=1)
        leading = _Instance(folder, "first", servers)
        _until(lambda: leading.leads)
        standing_by = _Instance(folder, "second", servers)
        try:
            _until(lambda: leading.create(_CONNECTOR))
            with _Stream(servers) as stream:
                stream.after(0)  # until records flow
                times = []
                for _ in range(options.rounds):
                    _until(standing_by.is_healthy)
                    began, sent = time.monotonic(), stream.sent
                    leading.kill()
                    stream.after(sent + 1)
                    times.append(time.monotonic() - began)
                    sys.stdout.write(f"{times[-1]:.1f} s\n")
                    leading, standing_by = standing_by, _Instance(folder, "again", servers)
            sys.stdout.write(f"median {median(times):.1f} s, longest {max(times):.1f} s\n")
        finally:
            for each in (leading, standing_by):
                if each.process.poll() is None:
                    each.kill()


class _Stream:
    """Numbers that are sent all the time, and those that came through."""

    def __init__(self, servers: str) -> None:
        self._producer = barnabas.Producer(servers)
        self._consumer = barnabas.Consumer(servers, "takeover-out", start="earliest")
        self.sent = 0

    def after(self, number: int) -> None:
        """Send until a record with at least this number has come through."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            self.sent += 1
            self._producer.send("takeover-in", b'{"number": %d}' % self.sent)
            self._producer.flush()
            for each in self._consumer.poll(timeout_s=_PAUSE_S):
                assert each.value is not None
                if json.loads(each.value)["number"] >= number:
                    return
        raise RuntimeError(f"nothing has come through for {_PATIENCE_S:.0f} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._producer.close()
        self._consumer.close()


def _until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not is_true():
        if time.monotonic() > deadline:
            raise RuntimeError("it takes too long")
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main()
