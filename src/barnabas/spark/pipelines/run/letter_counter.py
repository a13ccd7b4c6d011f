"""Counts the dead letters of a pipeline, by what its tasks have committed together with them.

Spark can't carry this count: what a source leaves out is in none of its reports. The driver asks
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
    """Of one pipeline; its topics may be in several clusters."""

    def __init__(self, topics: Iterable[LetterTopic]) -> None:
        self.count = 0
        self._groups: dict[ConnectionOptions, list[str]] = {}
        for each in topics:
            self._groups.setdefault(each.connection, []).append(each.group)
        self._connections: dict[ConnectionOptions, ClusterConnection] = {}
        self._asked: list[Future[int]] = []
        self._asked_at = 0.0

    def poll(self, query_id: str) -> None:
        """Take an answer, or ask again once that is due."""
        if self._asked:
            if all(each.done() for each in self._asked):
                self._take()
        elif time.monotonic() - self._asked_at >= _INTERVAL_S:
            self._ask(query_id)

    def settle(self, query_id: str, timeout_s: float) -> None:
        """Ask, and wait for the answer: for a query that is over."""
        self._ask(query_id)
        deadline = time.monotonic() + timeout_s
        for each in self._asked:
            try:
                each.exception(max(deadline - time.monotonic(), 0))
            except NoAnswer:
                return  # what was known before stays
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
        """Add the answers up; a cluster that can't answer now is asked again."""
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
