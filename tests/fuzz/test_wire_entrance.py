"""Whatever comes in, the broker stays up, stays small, and serves others meanwhile.

`BARNABAS_FUZZ_EXAMPLES` sets how many conversations are tried (`make fuzz` tries many).
"""

import contextlib
import os
import select
import socket
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.frames import conversations
from tests.support.broker import BrokerProcess
from tests.support.tier import examples
from tests.support.wait import LIMIT_S

EXAMPLES = int(os.environ.get("BARNABAS_FUZZ_EXAMPLES", examples(400)))
ROOT = Path(__file__).parents[2]
MAX_GROWTH_BYTES = 100 * 1024 * 1024


def say(bootstrap: str, said: bytes) -> bytes:
    """Send everything, hear what is answered soon, then hang up and expect the same."""
    host, _, port = bootstrap.partition(":")
    heard = bytearray()
    with (
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
        socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection,
    ):
        connection.sendall(said)
        while select.select([connection], [], [], 0.02)[0]:
            chunk = connection.recv(65536)
            heard += chunk
            if not chunk:
                return bytes(heard)
        connection.shutdown(socket.SHUT_WR)
        while chunk := connection.recv(65536):
            heard += chunk
    return bytes(heard)


@settings(
    max_examples=EXAMPLES,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(said=conversations)
def attack(bootstrap: str, said: bytes) -> None:
    say(bootstrap, said)


def test_nothing_that_comes_in_harms_the_broker(broker: BrokerProcess) -> None:
    before = broker.rss()
    command = [sys.executable, "-m", "tests.fuzz.worker", broker.bootstrap]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "at work\n"
        attack(broker.bootstrap)
        output, _ = worker.communicate(timeout=LIMIT_S)
    assert worker.returncode == 0
    trips, slowest_s = output.split()
    assert int(trips) > 1
    assert float(slowest_s) < 60
    assert broker.rss() - before < MAX_GROWTH_BYTES
    log = broker.log.read_text()
    assert "Traceback" not in log, log[log.index("Traceback") - 400 :][:6000]
