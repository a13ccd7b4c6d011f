"""Requests to stop or restart pipelines, read from their topic while the pipelines run.

A thread reads, so that pipelines never wait for it. A cluster that does not allow it is asked again
later; pipelines run without.
"""

import logging
from threading import Event, Lock, Thread

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import BarnabasError, NotAuthorized
from barnabas.flow.requests import CONFIGS, PARTITION, PARTITIONS, TOPIC, PipelineRequest, decode
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.sync.admin import Admin
from barnabas.sync.consumer import Consumer

_log = logging.getLogger("barnabas.pipelines")
_CLIENT_ID = "barnabas-pipelines"
_PARTITION = TopicPartition(TOPIC, PARTITION)
_AGAIN_S = 30.0
_POLL_S = 0.5
_MAX_WAIT_MS = 5_000
_GOODBYE_S = 3.0
_MOST = 100


class ControlRequests:
    """Those that have come since the process started."""

    def __init__(self, cluster: ClusterAddress) -> None:
        self._cluster = cluster
        self._lock = Lock()
        self._waiting: list[PipelineRequest] = []
        self._next: int | None = None
        self._closing = Event()
        self._listening = Event()
        self._thread = Thread(target=self._run, name="pipeline-requests", daemon=True)
        self._thread.start()

    @property
    def is_listening(self) -> bool:
        """Whether requests reach this process."""
        return self._listening.is_set() and not self._closing.is_set()

    def take(self) -> list[PipelineRequest]:
        """Those that have come since the last call."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def close(self) -> None:
        """Take no more. Once is enough, twice does no harm."""
        self._closing.set()
        self._thread.join(_GOODBYE_S)

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen()
            except BarnabasError as error:
                self._listening.clear()
                if isinstance(error, NotAuthorized):
                    self._next = None  # what was asked meanwhile was not for this process
                if not self._closing.is_set():
                    _log.info("pipelines take no requests from %s: %s", TOPIC, error)
                self._closing.wait(_AGAIN_S)

    def _listen(self) -> None:
        """Read for as long as it works. Raises `BarnabasError`."""
        address = (self._cluster.bootstrap_servers,)
        security = self._cluster.security
        with Admin(*address, client_id=_CLIENT_ID, security=security) as admin:
            if TOPIC not in admin.topics(internal=True):
                admin.create_topic(TOPIC, partitions=PARTITIONS, configs=CONFIGS, exist_ok=True)
            end = admin.offsets(TOPIC)[_PARTITION]
        if self._next is None or self._next > end:  # it may have been deleted and created again
            self._next = end
        with Consumer(
            *address, client_id=_CLIENT_ID, security=security, max_wait_ms=_MAX_WAIT_MS
        ) as consumer:
            consumer.assign({_PARTITION: self._next})
            while not self._closing.is_set():
                messages = consumer.poll(_POLL_S)
                self._listening.set()  # not before: it may be refused
                for message in messages:
                    self._next = message.offset + 1
                    request = decode(message.value)
                    if request is not None:
                        self._add(request)

    def _add(self, request: PipelineRequest) -> None:
        with self._lock:
            self._waiting = [*self._waiting, request][-_MOST:]
