"""Consume, transform, produce: one pipeline for each client library, and a judge of what comes out.

A producer writes numbered values to `source`. Each library's transformers, which are processes,
read them and write them to a topic of the library's own in transactions. A reader of committed
records watches all of these topics all the time. Whatever happens, what it sees of a partition is
always what was written to that partition of `source`, from its first record on, each once and in
order; and in the end it is all of it.
"""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from tests.cluster.transformer import PATIENCE
from tests.cluster.workload import IMPATIENT
from tests.foreign_clients.conftest import CLIENTS
from tests.support.cluster import ClusterProcesses
from tests.support.network import CLIENTS as CLIENT_HOST
from tests.support.wait import LIMIT_S, wait_until

SOURCE = "source"
PARTITIONS = 3
RECORDS_PER_S = 40
_MOST_PATIENT = 16
_ROOT = Path(__file__).parents[2]


class Transformer:
    """One process. `replace` starts another of the same name while this one may still run.

    One that ended by itself may have had too little time on a busy machine: the next has more.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.command = command
        self._log = log
        self.restarts = 0
        self._patience = 1
        self.replaced: list[subprocess.Popen[bytes]] = []
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as out:
            return subprocess.Popen(
                self.command,
                cwd=_ROOT,
                env={**os.environ, PATIENCE: str(self._patience)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def replace(self) -> None:
        self.replaced.append(self.process)
        self.process = self._start()

    def tend(self) -> None:
        """Start it again if it has ended."""
        if (code := self.process.poll()) is not None:
            self.restarts += 1
            if code > 0:
                self._patience = min(2 * self._patience, _MOST_PATIENT)
            self.process = self._start()

    @property
    def ready(self) -> bool:
        """Whether as many have said so as were started."""
        started = 1 + self.restarts + len(self.replaced)
        return self._log.read_text(errors="replace").count("ready") == started

    def close(self) -> None:
        for process in (*self.replaced, self.process):
            process.kill()
            process.wait()

    def log_tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])


class Pipelines:
    """A context manager: all of it runs inside."""

    def __init__(self, cluster: ClusterProcesses, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._began = time.monotonic()
        self._working = threading.Event()
        self._writing = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._write, self._watch)]
        self.sent: list[list[str]] = [[] for _ in range(PARTITIONS)]
        self.failed: list[str] = []
        self.seen: dict[str, list[list[str]]] = {
            client.name: [[] for _ in range(PARTITIONS)] for client in CLIENTS
        }
        self.transformers: dict[str, Transformer] = {}

    def __enter__(self) -> Self:
        for topic in (SOURCE, *self.seen):
            self._cluster.create_topic(topic, PARTITIONS, 3)
        everything = [str(p) for p in range(PARTITIONS)]
        self._launch("confluent-kafka", "confluent-a")
        self._launch("confluent-kafka", "confluent-b")
        self._launch("kafka-python", "kafka-python-a")
        self._launch("aiokafka", "aiokafka-a", everything)
        self._working.set()
        self._writing.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._writing.clear()
        self._working.clear()
        for transformer in self.transformers.values():
            transformer.close()
        for thread in self._threads:
            thread.join(LIMIT_S)

    def _launch(self, client: str, name: str, partitions: Sequence[str] = ()) -> None:
        network = self._cluster.network
        prefix = [] if network is None else network.command(CLIENT_HOST)
        command = [*prefix, sys.executable, "-m", "tests.cluster.transformer", client]
        command += [self._cluster.bootstrap, name, SOURCE, client, *partitions]
        self.transformers[name] = Transformer(command, self._directory / f"{name}.log")

    # -- threads ---------------------------------------------------------------------------------

    def _write(self) -> None:
        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                self.failed.append(str(error))

        config = {"bootstrap.servers": self._cluster.bootstrap, "log_level": 2, **IMPATIENT}
        producer = Producer({**config, "enable.idempotence": True, "on_delivery": delivered})
        for number in itertools.count():
            if not self._writing.is_set():
                break
            partition = number % PARTITIONS
            value = f"{partition}/{number}"
            producer.produce(SOURCE, value, partition=partition)
            self.sent[partition].append(value)
            producer.poll(1 / RECORDS_PER_S)
        if producer.flush(LIMIT_S):
            self.failed.append("not everything was acknowledged")

    def _watch(self) -> None:
        config = {"bootstrap.servers": self._cluster.bootstrap, "log_level": 2, **IMPATIENT}
        consumer = Consumer(
            {**config, "group.id": "unknown", "enable.auto.commit": False}
            | {"isolation.level": "read_committed", "auto.offset.reset": "error"}
        )
        consumer.assign(
            [TopicPartition(topic, p, 0) for topic in self.seen for p in range(PARTITIONS)]
        )
        while self._working.is_set():
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error() is not None:
                self.failed.append(f"the reader: {message.error()}")
                continue
            value = (message.value() or b"").decode()
            self.seen[message.topic() or ""][message.partition() or 0].append(value)
        consumer.close()

    # -- progress and judgement ------------------------------------------------------------------

    def tend(self) -> None:
        for transformer in self.transformers.values():
            transformer.tend()

    def wait_until_ready(self) -> None:
        self._wait(
            lambda: all(t.ready for t in self.transformers.values()),
            LIMIT_S,
            lambda: "not all are ready",
        )

    def wait_for_progress(self, timeout_s: float = LIMIT_S) -> None:
        """Until each pipeline has put out something that went in after now."""
        since = [len(values) + 1 for values in self.sent]
        waits = dict.fromkeys(self.seen, "nothing")
        began = time.monotonic()

        def came_out() -> bool:
            for topic, partitions in self.seen.items():
                lengths = map(len, partitions)
                if waits[topic] == "nothing" and all(map(int.__gt__, lengths, since)):
                    waits[topic] = f"{time.monotonic() - began:.1f} s"
            return "nothing" not in waits.values()

        def what_came() -> str:
            return f"after {began - self._began:.1f} s came from {waits}"

        self._wait(came_out, timeout_s, what_came)
        print(what_came(), flush=True)

    def finish(self, timeout_s: float = LIMIT_S) -> None:
        """Stop what goes in, wait until all has come out, and a while for what should not."""
        self._writing.clear()
        self._threads[0].join(LIMIT_S)
        whole = dict.fromkeys(self.seen, self.sent)
        self._wait(lambda: self.seen == whole, timeout_s, lambda: "not everything comes out")
        for transformer in self.transformers.values():
            transformer.process.terminate()
        time.sleep(0.5)
        self.judge()
        assert self.seen == whole
        assert self.failed == []

    def _wait(
        self, condition: Callable[[], bool], timeout_s: float, complaint: Callable[[], str]
    ) -> None:
        def holds() -> bool:
            self.tend()
            self.judge()
            return condition()

        try:
            wait_until(holds, "this goes on", timeout_s=timeout_s)
        except AssertionError as error:
            behind = self._cluster.out_of_sync()
            open_ones = [
                (node.node_id, found.transactional_id, found.transaction_state)
                for node in self._cluster.awake()
                for found in node.ask(ListTransactionsRequest()).transaction_states
            ]
            raise AssertionError(
                f"{complaint()}: {error}; out of sync {behind}; transactions {open_ones}; "
                f"{self.summary()}"
            ) from None

    def judge(self) -> None:
        """What is seen is what was sent, as far as it goes."""
        for topic, partitions in self.seen.items():
            for partition, values in enumerate(partitions):
                seen = list(values)
                wanted = self.sent[partition][: len(seen)]
                if seen != wanted:
                    same = itertools.takewhile(bool, map(str.__eq__, seen, wanted))
                    at = sum(1 for _ in same)
                    around = slice(max(0, at - 3), at + 4)
                    pytest.fail(
                        f"{topic}-{partition}: {seen[around]} instead of {wanted[around]} "
                        f"from place {around.start} on; {self.summary()}"
                    )

    def summary(self) -> str:
        counts = {name: [len(v) for v in partitions] for name, partitions in self.seen.items()}
        restarts = {name: t.restarts for name, t in self.transformers.items()}
        tails = "\n".join(
            f"--- {name}\n{transformer.log_tail()}"
            for name, transformer in self.transformers.items()
        )
        sent = [len(values) for values in self.sent]
        return f"{sent} in, out {counts}, restarts {restarts}, {self.failed}\n{tails}"
