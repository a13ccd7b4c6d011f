"""Group members that poll on their own, each in a thread, as members in real life do."""

import threading
from collections.abc import Callable, Sequence
from typing import Self

from tests.foreign_clients.face import Consumer, Record
from tests.support.wait import LIMIT_S, wait_until

Share = frozenset[tuple[str, int]]


class Member:
    """Polls from its start to its end; the consumer is used by the member's thread alone."""

    def __init__(self, open_consumer: Callable[[], Consumer], topic: str, *, commits: bool) -> None:
        self.share: Share = frozenset()
        self.records: list[Record] = []
        self._open = open_consumer
        self._topic = topic
        self._commits = commits
        self._leaving = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._open() as consumer:
                consumer.subscribe([self._topic])
                while not self._leaving.is_set():
                    self._take(consumer)
        except BaseException as error:  # noqa: BLE001 - told to the test, which raises it
            self._error = error

    def _take(self, consumer: Consumer) -> None:
        records = consumer.poll(0.5)
        if records and self._commits:
            consumer.commit(self._topic, {r.partition: r.offset + 1 for r in records})
        self.records += records
        self.share = frozenset(consumer.assigned())

    def leave(self) -> None:
        """Leave the group and wait until that is done."""
        self._leaving.set()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "the member does not end"
        self.check()

    def check(self) -> None:
        """Raise what the member's thread ended with, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def wait_for_shares(members: Sequence[Member], sizes: Sequence[int], timeout_s: float = 60) -> None:
    """Wait until every partition is with one member, and the shares have these sizes."""

    def shared_out() -> bool:
        for member in members:
            member.check()
        shares = [member.share for member in members]
        everything = frozenset().union(*shares)
        return sorted(map(len, shares)) == sorted(sizes) and len(everything) == sum(sizes)

    wait_until(shared_out, f"the partitions are not shared out as {sizes}", timeout_s=timeout_s)
