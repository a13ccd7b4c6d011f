"""The workload and the checker together, on a broker that really loses what it acknowledged."""

import contextlib
from pathlib import Path

from tests.cluster.conftest import TOPIC
from tests.cluster.workload import Workload
from tests.support.cluster import ClusterProcesses


def test_what_a_wiped_broker_has_lost_is_found(
    tmp_path: Path, resources: contextlib.ExitStack
) -> None:
    """One node, one replica: no other has it, so it must be missed."""
    # The clients may be the first to ask for the topic afterwards: it is made the same then.
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 1, {"num.partitions": "2"}))
    cluster.create_topic(TOPIC, 2, replicas=1)
    with Workload(cluster.bootstrap, TOPIC, 2, idempotent=0) as workload:
        workload.wait_for_progress()
        cluster[1].kill()
        cluster[1].wipe()
        cluster.start()
        cluster.create_topic(TOPIC, 2, replicas=1)
        violations = workload.finish(drain_s=3)
    kinds = {violation.kind for violation in violations}
    assert "lost write" in kinds
    assert "lost read" in kinds or "inconsistent offset" in kinds


def test_a_broker_that_is_killed_loses_nothing(
    tmp_path: Path, resources: contextlib.ExitStack
) -> None:
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 1))
    cluster.create_topic(TOPIC, 2, replicas=1)
    with Workload(cluster.bootstrap, TOPIC, 2) as workload:
        workload.wait_for_progress()
        cluster[1].kill()
        cluster.start()
        workload.wait_for_progress()
        violations = workload.finish()
    assert violations == []
