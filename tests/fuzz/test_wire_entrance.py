"""Whatever comes in, the broker stays up, stays small, and serves others meanwhile.

`BARNABAS_FUZZ_EXAMPLES` sets how many conversations are tried (`make fuzz` tries many).
"""

import contextlib
import os
import select
import socket
import threading
import time

from hypothesis import HealthCheck, Phase, given, settings

from tests.clients.confluent import Confluent
from tests.fuzz.frames import conversations
from tests.support.broker import BrokerProcess

EXAMPLES = int(os.environ.get("BARNABAS_FUZZ_EXAMPLES", "400"))
MAX_GROWTH_BYTES = 100 * 1024 * 1024


class Worker:
    """An honest client at work; it counts its round trips and keeps the slowest."""

    def __init__(self, bootstrap: str) -> None:
        self.trips = 0
        self.slowest_s = 0.0
        self._bootstrap = bootstrap
        self._error: BaseException | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            client = Confluent()
            with (
                client.producer(self._bootstrap, linger_ms=0) as producer,
                client.consumer(self._bootstrap) as consumer,
            ):
                _, end = consumer.bounds("work", 0)
                consumer.assign("work", {0: end})
                while not self._ending.is_set():
                    begin = time.monotonic()
                    producer.send("work", b"%d" % self.trips, partition=0)
                    (outcome,) = producer.flush()
                    assert outcome.error is None
                    assert consumer.read(1)[0].value == b"%d" % self.trips
                    self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
                    self.trips += 1
        except BaseException as error:  # noqa: BLE001 - told to the test, which raises it
            self._error = error

    def end(self) -> None:
        self._ending.set()
        self._thread.join(60)
        if self._error is not None:
            raise self._error


def say(bootstrap: str, said: bytes) -> bytes:
    """Send everything, hear what is answered soon, then hang up and expect the same."""
    host, _, port = bootstrap.partition(":")
    heard = bytearray()
    with (
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
        socket.create_connection((host, int(port)), timeout=10) as connection,
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


def test_nothing_that_comes_in_harms_the_broker(broker: BrokerProcess) -> None:
    worker = Worker(broker.bootstrap)
    before = broker.rss()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(conversations)
    def attack(said: bytes) -> None:
        say(broker.bootstrap, said)

    try:
        attack()
    finally:
        worker.end()
    assert broker.alive
    assert worker.trips > 20
    assert worker.slowest_s < 3
    assert broker.rss() - before < MAX_GROWTH_BYTES
    log = broker.log.read_text()
    assert "Traceback" not in log, log[log.index("Traceback") - 400 :][:6000]
