"""Counts the dead letters of a pipeline, from the offsets that its tasks commit with them.

Spark's reports do not have this count: they leave out records that a source skips. The driver asks
the group's coordinator about once a second, and never waits for an answer while pipelines run.
"""

import time
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer

from barnabas.errors import BarnabasError
from barnabas.spark.cluster.connection import ClusterConnection
from barnabas.spark.cluster.kafka_settings import ConnectionOptions
from barnabas.spark.dead_letters.letter_writer import LetterTopic, count_letters

_INTERVAL_S = 1.0


class LetterCounter:
    """Counts for one pipeline; its topics may be in several clusters."""

    def __init__(self, topics: Iterable[LetterTopic]) -> None:
        self.count = 0
        self._groups: dict[ConnectionOptions, list[str]] = {}
        for each in topics:
            self._groups.setdefault(each.connection, []).append(each.group)
        self._connections: dict[ConnectionOptions, ClusterConnection] = {}
        self._asked: list[Future[int]] = []
        self._asked_at = 0.0

    def poll(self, query_id: str) -> None:
        """Process an answer, or send the next request when it is due."""
        if self._asked:
            if all(each.done() for each in self._asked):
                self._take()
        elif time.monotonic() - self._asked_at >= _INTERVAL_S:
            self._ask(query_id)

    def settle(self, query_id: str, timeout_s: float) -> None:
        """Request the count and wait for it: for a query that has ended."""
        self._ask(query_id)
        deadline = time.monotonic() + timeout_s
        for each in self._asked:
            try:
                each.exception(max(deadline - time.monotonic(), 0))
            except NoAnswer:
                return  # the last known count stays
        self._take()

    def close(self) -> None:
        for each in self._asked:
            each.cancel()
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _ask(self, query_id: str) -> None:
        self._asked_at = time.monotonic()
        self._asked = [
            self._connection(options).begin_asking(
                lambda cluster, groups=groups: count_letters(cluster, groups, query_id)  # type: ignore[misc]
            )
            for options, groups in self._groups.items()
        ]

    def _take(self) -> None:
        """Sum up the answers; a cluster that can't answer now is asked again."""
        answers, self._asked = self._asked, []
        if all(each.exception() is None for each in answers):
            self.count = sum(each.result() for each in answers)
            return
        for each in answers:
            error = each.exception()
            if error is not None and not isinstance(error, BarnabasError):
                raise error

    def _connection(self, options: ConnectionOptions) -> ClusterConnection:
        if options not in self._connections:
            self._connections[options] = ClusterConnection(options)
        return self._connections[options]
