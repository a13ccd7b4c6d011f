"""Replicas that are moved by `barnabas cluster balance`, under load."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.cluster.conftest import SETTINGS, hurt
from tests.cluster.workload import DEFAULTS
from tests.support import fork_server
from tests.support.cluster import ClusterProcesses


def balance(cluster: ClusterProcesses, *options: str) -> dict[str, Any]:
    done = fork_server.run(
        [
            *(sys.executable, "-m", "barnabas", "cluster", "balance", "--json", *options),
            *("--bootstrap", cluster.bootstrap),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def replicas_on(cluster: ClusterProcesses, node: int) -> int:
    return sum(node in each.replicas for each in cluster.partitions().values())


def test_a_node_is_emptied_and_filled_again_under_load(
    tmp_path: Path, resources: contextlib.ExitStack
) -> None:
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 4, SETTINGS))
    with hurt(cluster, partitions=6, clients=DEFAULTS) as workload:
        planned = balance(cluster, "--without", "4")
        assert planned["moves"]
        assert replicas_on(cluster, 4) > 0
        emptied = balance(cluster, "--without", "4", "--apply", "--throttle", "5000000")
        assert {4} & {node for each in emptied["moves"] for node in each["before"]}
        assert replicas_on(cluster, 4) == 0
        again = balance(cluster, "--without", "4")
        assert not any(4 in [*each["before"], *each["after"]] for each in again["moves"])
        workload.wait_for_progress()
        filled = balance(cluster, "--apply")
        assert any(4 in each["after"] for each in filled["moves"])
        assert replicas_on(cluster, 4) > 0
        workload.wait_for_progress()
        assert workload.history.failed == []
