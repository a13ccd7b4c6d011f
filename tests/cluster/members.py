"""The members of a group, each a process, what they have read, and what must hold of it."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple, Self

import barnabas
from tests.support.wait import LIMIT_S

_MODULE = "tests.cluster.group_member"


class Span(NamedTuple):
    """A member has a partition, from one time on until another, since an epoch.

    `released` says whether it gave the partition back; otherwise it was lost, or the member died.
    """

    name: str
    owner: str
    epoch: int
    begin: float
    end: float
    released: bool


class MemberProcess:
    """One member."""

    def __init__(self, name: str, instance_id: str | None, *arguments: str) -> None:
        self.name = name
        self._instance_id = instance_id
        self.reads: list[tuple[float, int, int]] = []
        """Times, partitions and numbers."""
        self.partitions: set[int] = set()
        self.spans: dict[int, list[Span]] = defaultdict(list)
        self.events: list[str] = []
        self._began: dict[int, tuple[float, str, int]] = {}
        self.is_ready = threading.Event()
        """Set when its process has started."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.close()

    def _collect(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self.is_ready.set()
        for line in self._process.stdout:
            try:
                what, at, member_id, epoch, *rest = json.loads(line)
            except ValueError:
                break  # it was killed while it wrote
            if what == "read":
                self.reads.append((at, *rest))
                continue
            self.events.append(what)
            for partition in rest[0]:
                if what == "assigned":
                    self.partitions.add(partition)
                    self._began[partition] = (at, self._instance_id or member_id, epoch)
                else:
                    self._end(partition, at, released=what == "revoked")
        for partition in list(self.partitions):
            self._end(partition, time.monotonic(), released=False)

    def _end(self, partition: int, at: float, *, released: bool) -> None:
        self.partitions.discard(partition)
        begin, owner, epoch = self._began.pop(partition)
        self.spans[partition].append(Span(self.name, owner, epoch, begin, at, released))

    def kill(self) -> None:
        self._process.kill()
        self._join()

    def leave(self) -> None:
        self._process.terminate()
        self._join()
        assert self._process.returncode == 0, f"{self.name} has failed"

    def _join(self) -> None:
        self._process.wait(LIMIT_S)
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None


class Members:
    """Of one group. A context manager: at the end no process is left."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self._arguments = (bootstrap, topic, group)
        self.all: list[MemberProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.all:
            if each.is_running:
                each.kill()

    def start(self, instance_id: str | None = None) -> MemberProcess:
        member = self.prepare(instance_id)
        member.go()
        return member

    def prepare(self, instance_id: str | None = None) -> MemberProcess:
        """One that has started, and begins when it is told to go."""
        rest = () if instance_id is None else (instance_id,)
        name = f"member-{len(self.all) + 1}"
        member = MemberProcess(name, instance_id, *self._arguments, *rest)
        assert member.is_ready.wait(LIMIT_S)
        self.all.append(member)
        return member

    @property
    def running(self) -> list[MemberProcess]:
        return [each for each in self.all if each.is_running]

    def share(self, partitions: int) -> bool:
        """Whether each running member has its share, and all partitions have one reader."""
        shares = [set(each.partitions) for each in self.running]
        sizes = [len(each) for each in shares]
        return (
            max(sizes) - min(sizes) <= 1
            and sum(sizes) == partitions
            and set().union(*shares) == set(range(partitions))
        )

    @property
    def numbers(self) -> set[int]:
        """All that was read."""
        return {number for each in self.all for _, _, number in list(each.reads)}

    def given_up(self, since: float) -> set[int]:
        """The partitions that a member has lost or given back from then on."""
        return {
            partition
            for each in self.all
            for partition, spans in list(each.spans.items())
            if any(span.end >= since for span in list(spans))
        }

    def check_owners(self) -> None:
        """No partition has two owners at a time that both know the present epoch.

        Each owner has a later epoch than the one before, except that a static member that returns
        is the same owner. Who gave a partition back had done so
        before the next one began; who was frozen or killed may not know that it has none.
        """
        by_partition: dict[int, list[Span]] = defaultdict(list)
        for each in self.all:
            assert not each.is_running, "all members must have ended"
            for partition, spans in each.spans.items():
                by_partition[partition] += spans
        for partition, spans in by_partition.items():
            spans.sort(key=lambda span: span.begin)
            for earlier, later in pairwise(spans):
                told = f"partition {partition}: {earlier} and {later}"
                if earlier.released:
                    assert earlier.end <= later.begin, told
                if earlier.owner != later.owner:
                    assert earlier.epoch < later.epoch, told


class Writing:
    """Numbers, each to the next partition, as fast as `per_s` says."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, per_s: int = 200) -> None:
        self.acked: set[int] = set()
        self._topic, self._partitions, self._pause_s = topic, partitions, 1 / per_s
        self._producer = barnabas.Producer(bootstrap)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._producer.close()

    def _run(self) -> None:
        number = 0
        while not self._over.wait(self._pause_s):
            self._producer.send(self._topic, b"%d" % number, partition=number % self._partitions)
            self.acked.add(number)  # the producer raises on closing if one is lost
            number += 1
