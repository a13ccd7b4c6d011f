"""A program as users write it, in a process of its own, to be killed, frozen and cut off.

    python -m tests.cluster.transformer CLIENT BOOTSTRAP ID SOURCE TARGET [PARTITION ...]

Reads from SOURCE, writes what it has read to the same partitions of TARGET, and commits how far it
has read, all in one transaction. Without partitions it is a member of the group named TARGET, and
the group fences a member that was replaced. With partitions it reads these, and only its ID, which
is its transactional id, keeps its predecessor from writing: for libraries that can't tell the group
which member they are.

Now and then it changes its mind, for the first time in its second transaction: what it writes then
is marked, and must never be read. It deals with failures as the libraries ask for: one who must
abort does so and reads again, one who is fenced ends. Whatever else happens ends it too, and
it is started again.
"""

import itertools
import os
import random
import signal
import sys
import threading
import time

from tests.foreign_clients.conftest import CLIENTS
from tests.foreign_clients.face import Consumer, Fenced, MustAbort, Producer, Record

ABORTED = b"aborted "
FENCED = 3
"""How a process ends that was fenced."""

STUCK = 4
"""And one that did not get on with a transaction for too long: what watches over services in real
life. kafka-python 3.0.12 forgets a request whose coordinator can't be reached, and waits."""

PATIENCE = "TRANSFORMER_PATIENCE"
"""The variable that says how many times as long a transaction may take."""

_TIMES = int(os.environ.get(PATIENCE, "1"))
_TRANSACTION_TIMEOUT_MS = _TIMES * 6_000
_PATIENCE_S = _TIMES * 7.0
_REQUEST_TIMEOUT_MS = 3_000
_PAUSE_S = 0.02
"""Between a transaction's last write and its end, so that what happens, happens inside of it."""

_numbers = itertools.count()
_ending = threading.Event()


def main() -> None:
    name, servers, transactional_id, source, target, *partitions = sys.argv[1:]
    # kafka-python asks the first one first, and waits; it may be frozen.
    bootstrap = ",".join(random.sample(servers.split(","), servers.count(",") + 1))
    signal.signal(signal.SIGTERM, lambda *_: _ending.set())
    (client,) = (client for client in CLIENTS if client.name == name)
    with (
        client.producer(
            bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
        ) as producer,
        client.consumer(
            bootstrap,
            target,
            isolation="read_committed",
            request_timeout_ms=_REQUEST_TIMEOUT_MS,
        ) as consumer,
    ):
        # The former owner of the id has ended by now, so what is committed stays as it is.
        if partitions:
            positions = {int(p): consumer.committed(source, int(p)) or 0 for p in partitions}
            consumer.assign(source, positions)
        else:
            consumer.subscribe([source])
        say("ready")
        while not _ending.is_set():
            records = consumer.poll(0.5)
            if records:
                transform(producer, consumer, records, source, target)


def transform(
    producer: Producer, consumer: Consumer, records: list[Record], source: str, target: str
) -> None:
    regrets = next(_numbers) % 5 == 1
    mark = ABORTED if regrets else b""
    done = threading.Event()
    threading.Thread(target=watch, args=[done], daemon=True).start()
    try:
        producer.begin()
        for r in records:
            producer.send(target, mark + (r.value or b""), partition=r.partition)
        reached = {r.partition: r.offset + 1 for r in records}
        producer.send_offsets(consumer.group_metadata(), source, reached)
        for outcome in producer.flush():
            if outcome.error is not None:  # aiokafka would commit the rest
                raise MustAbort(outcome.error)
        time.sleep(_PAUSE_S)
        if not regrets:
            producer.commit()
            return
        producer.abort()
    except MustAbort as error:
        say(f"must abort: {error}")
        producer.abort()
    except Fenced as error:
        say(f"fenced: {error}")
        sys.exit(FENCED)
    finally:
        done.set()
    rewind(consumer, records, source)


def watch(done: threading.Event) -> None:
    """End the process if this takes too long; the time that it is frozen does not count."""
    for _ in range(20):
        if done.wait(_PATIENCE_S / 20):
            return
    say("stuck")
    os._exit(STUCK)


def say(text: str) -> None:
    print(f"{time.time():.3f} {text}", flush=True)


def rewind(consumer: Consumer, records: list[Record], source: str) -> None:
    """Read the same again, but for what others read now."""
    first: dict[int, int] = {}
    for r in records:
        first.setdefault(r.partition, r.offset)
    for topic, partition in consumer.assigned():
        if topic == source and partition in first:
            consumer.seek(topic, partition, first[partition])


if __name__ == "__main__":
    main()
