"""Flushes and closes all logs of a node, so that its next start needs no scan."""

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from barnabas.broker.replica.partition import Partition
from barnabas.log import FlushJob, StorageError

logger = logging.getLogger(__name__)

_FLUSHES_AT_CLOSE = 16


def close_logs(partitions: Iterable[Partition], threads: Callable[[int, str], Executor]) -> bool:
    """Flush and close every log; returns whether all succeeded.

    The flushes run in parallel: in sequence, a thousand partitions take seconds.
    """
    replicas = list(partitions)
    flushes: list[tuple[Partition, FlushJob]] = []
    failed: list[Partition] = []
    for partition in replicas:
        with _logged(partition, failed):
            job = partition.log.flusher.prepare(everything=True)
            if job is not None:
                flushes.append((partition, job))
    closed: list[Partition] = []

    def sync_state(partition: Partition) -> None:
        with _logged(partition, failed):
            partition.log.state_file.sync()

    with threads(_FLUSHES_AT_CLOSE, "flush") as pool:
        for _ in pool.map(lambda flush: flush[1].run(), flushes):
            pass
        for partition, job in flushes:
            with _logged(partition, failed):
                partition.log.flusher.complete(job)
        for partition in replicas:
            with _logged(partition, failed):
                partition.close()
                if partition.log.segments:
                    closed.append(partition)
        for _ in pool.map(sync_state, closed):
            pass
    return not failed


@contextmanager
def _logged(partition: Partition, failed: list[Partition]) -> Iterator[None]:
    """Log a failed close and go on with the others; the next start scans that log."""
    try:
        yield
    except StorageError as error:
        failed.append(partition)
        logger.error("%s-%d could not be closed: %s", partition.topic, partition.index, error)
