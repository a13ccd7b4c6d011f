"""Reports of running pipelines, to the topic that the console reads.

A thread sends them, so that pipelines never wait for it. A cluster that does not take them, say for
want of a permission, is asked again later; pipelines run without.
"""

import logging
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Condition, Thread
from time import monotonic
from typing import Any, TypeAlias

from barnabas.errors import BarnabasError, NotAuthorized
from barnabas.flow.reports import ALIVE_S, CHANGED_S, CONFIGS, PARTITIONS, TOPIC, encode, key_of
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.sync.admin import Admin
from barnabas.sync.producer import Producer

_log = logging.getLogger("barnabas.pipelines")
_CLIENT_ID = "barnabas-pipelines"
_AGAIN_S = 30.0
_DELIVERY_MS = 15_000
_GOODBYE_S = 3.0
_PERMISSION = "; allow this user create, describe and write on the topic, or use --no-report"
_FLEETING = ("updated", "lag_s")
_AT_ONCE = ("state", "error", "control", "answered")

Status: TypeAlias = dict[str, Any]


class ProgressReports:
    """Sends what is published, each pipeline every few seconds."""

    def __init__(self, cluster: ClusterAddress) -> None:
        self._cluster = cluster
        self._host = socket.gethostname()
        self._due: dict[str, Status] = {}
        self._sent: dict[str, tuple[float, Status]] = {}
        self._news = Condition()
        self._closing = self._gave_up = False
        self._producer: Producer[bytes, bytes] | None = None
        self._warned: set[object] = set()
        self._thread = Thread(target=self._run, name="pipeline-reports", daemon=True)
        self._thread.start()

    def publish(self, statuses: Sequence[Mapping[str, Any]]) -> None:
        """Statuses as they are now; called about once a second."""
        now = monotonic()
        with self._news:
            for each in statuses:
                report = {**each, "host": self._host}
                key = key_of(report)
                if self._is_due(key, report, now):
                    self._sent[key] = (now, _lasting(report))
                    self._due[key] = report
            if self._due:
                self._news.notify()

    def close(self) -> None:
        """Send what is due, unless that takes long. Once is enough, twice does no harm."""
        with self._news:
            self._closing = True
            self._news.notify()
        self._thread.join(_GOODBYE_S)
        with self._news:
            self._gave_up = True
            producer = self._producer
        if producer is not None:
            with suppress(BarnabasError):  # that the last reports are lost
                producer.close(timeout_s=0)

    def _is_due(self, key: str, report: Status, now: float) -> bool:
        at, before = self._sent.get(key, (0.0, {}))
        lasting = _lasting(report)
        if any(before.get(name) != lasting.get(name) for name in _AT_ONCE):
            return True
        return now - at >= (CHANGED_S if lasting != before else ALIVE_S)

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_over():
            try:
                self._send_all()
            except BarnabasError as error:
                self._warn_once(error)
                with self._news:
                    self._news.wait_for(lambda: self._closing, _AGAIN_S)
                    if self._closing:
                        return

    def _warn_once(self, error: BarnabasError) -> None:
        """Of each reason, as its texts differ in times; a run that ends has told what it could."""
        if self._closing:
            return
        reason = error.__cause__ or error
        kind = (type(reason), getattr(reason, "code", None))
        level = logging.INFO if kind in self._warned else logging.WARNING
        self._warned.add(kind)
        fix = _PERMISSION if isinstance(reason, NotAuthorized) else ""
        _log.log(level, "pipelines are not reported to %s: %s%s", TOPIC, error, fix)

    def _is_over(self) -> bool:
        """Wait for something to do; whether there will be nothing more."""
        with self._news:
            self._news.wait_for(lambda: self._closing or self._due)
            return self._closing and not self._due

    def _send_all(self) -> None:
        """Send for as long as it works. Raises `BarnabasError`."""
        address = (self._cluster.bootstrap_servers,)
        security = self._cluster.security
        with Admin(*address, client_id=_CLIENT_ID, security=security) as admin:
            if TOPIC not in admin.topics(internal=True):
                admin.create_topic(TOPIC, partitions=PARTITIONS, configs=CONFIGS, exist_ok=True)
        producer = Producer(
            *address,
            client_id=_CLIENT_ID,
            security=security,
            delivery_timeout_ms=_DELIVERY_MS,
            auto_create=False,
        )
        with self._news:
            self._producer = None if self._gave_up else producer
        if self._gave_up:
            producer.close()
            return
        with producer:
            while not self._is_over():
                with self._news:
                    due, self._due = self._due, {}
                sent = [
                    producer.send(TOPIC, encode(report), key.encode())
                    for key, report in due.items()
                ]
                for each in sent:
                    each.result()


def _lasting(report: Status) -> Status:
    """What a report says, without what changes with the clock alone."""
    return {name: value for name, value in report.items() if name not in _FLEETING}
