"""Watches a broker while it is attacked: its memory, and how long another client waits for it."""

import threading
from pathlib import Path
from typing import Self

import psutil

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.broker.raw_client import RawClient
from tests.support.broker import BrokerProcess

MB = 1 << 20


def resident(pid: int) -> int:
    """Bytes of memory that the process has, as the kernel counts them now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmRSS for {pid}")


class Onlooker:
    """An ordinary client that asks for something small again and again, in a thread of its own.

    How long it waits is told in seconds of the broker's own CPU: what the broker does for others
    before it answers. Time in which a busy machine does not let it run says nothing about it.
    """

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.before = resident(broker.pid)
        self.peak = self.before
        self.longest_wait_s = 0.0
        self.failed: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self.failed is not None:
            raise self.failed

    @property
    def grown(self) -> int:
        """By how much the broker's memory has grown, at its largest."""
        return self.peak - self.before

    def _look(self) -> None:
        process = psutil.Process(self._broker.pid)

        def worked_s() -> float:
            times = process.cpu_times()
            return times.user + times.system

        try:
            with RawClient(self._broker.host, self._broker.port) as client:
                while not self._stop.wait(0.01):
                    before_s = worked_s()
                    client.ask(ApiVersionsRequest("onlooker", "1"))
                    self.longest_wait_s = max(self.longest_wait_s, worked_s() - before_s)
                    self.peak = max(self.peak, resident(self._broker.pid))
        except Exception as error:  # noqa: BLE001 - it is raised where the onlooker is used
            self.failed = error
