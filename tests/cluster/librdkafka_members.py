"""Members of librdkafka in processes of their own, and a producer that never stops."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from confluent_kafka import Producer

from tests.support.wait import LIMIT_S, wait_until

ROOT = Path(__file__).parents[2]


class MemberProcess:
    """A member; it leaves the group at the end of the `with` block unless it is killed before."""

    def __init__(self, bootstrap: str, group: str, topic: str, protocol: str, path: Path) -> None:
        self._path = path
        path.touch()
        arguments = [bootstrap, group, topic, protocol, str(path)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.librdkafka_member", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
        )

    @property
    def assigned(self) -> frozenset[int]:
        lines = [each for each in self._lines() if each[0] == "assigned"]
        return frozenset(map(int, lines[-1][1:])) if lines else frozenset()

    def read(self) -> set[str]:
        """The values that it has read."""
        return {each[3] for each in self._lines() if each[0] == "read"}

    def _lines(self) -> list[list[str]]:
        lines = self._path.read_text().split("\n")[:-1]
        return [line.split() for line in lines]

    def freeze(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def leave(self) -> None:
        assert self._process.stdin is not None
        if self._process.poll() is None:
            self._process.stdin.close()
            self._process.wait(LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.thaw()
        self.leave()


class SteadyProducer:
    """Writes numbers, and knows which of them were acknowledged."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acked: set[str] = set()
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._topic = topic
        self._partitions = partitions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(0.005):
            value = str(number)
            self._producer.produce(
                self._topic,
                value.encode(),
                partition=number % self._partitions,
                on_delivery=lambda error, _, value=value: error or self.acked.add(value),
            )
            self._producer.poll(0)
            number += 1
        self._producer.flush(LIMIT_S)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for_progress(self, members: Sequence[MemberProcess]) -> None:
        """Until something is read that was written from now on."""
        before = set(self.acked)
        wait_until(
            lambda: set().union(*(member.read() for member in members)) & (self.acked - before),
        )


def wait_for_shares(members: Sequence[MemberProcess], sizes: Sequence[int]) -> None:
    """Until every partition is with one member, and the shares have these sizes."""

    def shared_out() -> bool:
        shares = [member.assigned for member in members]
        everything: frozenset[int] = frozenset().union(*shares)
        return sorted(map(len, shares)) == sorted(sizes) and len(everything) == sum(sizes)

    wait_until(
        shared_out,
        lambda: (
            f"wanted shares of {sizes}, there are {[sorted(each.assigned) for each in members]}"
        ),
    )


def wait_until_all_read(producer: SteadyProducer, members: Sequence[MemberProcess]) -> None:
    """Everything that was acknowledged is read by somebody."""

    def missing() -> set[str]:
        return producer.acked - set().union(*(member.read() for member in members))

    wait_until(
        lambda: not missing(),
        lambda: f"{len(missing())} values were never read",
    )
