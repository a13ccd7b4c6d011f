"""A machine with far too much to do: the controller stays, and topics can be created.

Not part of an ordinary run, since it takes the whole machine: `make test-all` has it, or

    BARNABAS_OVERLOAD_SECONDS=60 pytest -s tests/cluster/test_overload.py
"""

import os
import subprocess
import sys
import time

import pytest

from barnabas.broker.quorum.describe import METADATA_QUESTION
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

SECONDS = float(os.environ.get("BARNABAS_OVERLOAD_SECONDS", "30"))
BUSY = int(os.environ.get("BARNABAS_OVERLOAD_PROCESSES", "50"))
MOST_CHANGES = 1


def quorum_epoch(cluster: ClusterProcesses) -> int:
    (topic,) = cluster.ask_any(METADATA_QUESTION).topics
    (partition,) = topic.partitions
    return int(partition.leader_epoch)


@pytest.mark.long
def test_an_overloaded_machine_keeps_its_controller(cluster: ClusterProcesses) -> None:
    before = quorum_epoch(cluster)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    created = failed = 0
    try:
        ends_at = time.monotonic() + SECONDS
        while time.monotonic() < ends_at:
            topic = CreatableTopic(f"overload-{created + failed}", 1, 3)
            try:
                answer = cluster.ask_any(CreateTopicsRequest([topic], 10_000))
                failed += bool(answer.topics[0].error_code)
                created += not answer.topics[0].error_code
            except OSError:
                failed += 1
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()
    wait_until(lambda: not cluster.out_of_sync(), "replicas are out of sync")
    changes = quorum_epoch(cluster) - before
    print(f"{created} topics created, {failed} not, the epoch of the quorum rose by {changes}")
    assert changes <= MOST_CHANGES
    assert created > failed
