"""`cluster status` where a voter has come back with an empty directory."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until


@pytest.mark.long
def test_a_voter_that_lost_its_disk_does_not_count_as_answering(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path, 3) as cluster:
        controller = cluster.controller()
        survivor, away = (node for node in cluster.nodes.values() if node is not controller)
        survivor.freeze()  # lest it becomes the controller while there is a majority
        controller.kill()
        away.kill()
        survivor.thaw()
        controller.wipe()
        controller.launch()  # it is not ready before there is a controller again
        expected = (
            "no controller: 1 of 3 voters answer, 2 are needed; "
            f"node {controller.node_id} came back with an empty directory, which can't vote; "
            f"start node {away.node_id}"
        )
        cli = Cli(survivor.bootstrap)
        seen = ""

        def is_said() -> bool:
            nonlocal seen
            done = cli.run("cluster", "status")
            seen = (done.stdout + done.stderr).decode()
            return expected in seen

        try:
            wait_until(is_said, f"not said: {expected}")
        except AssertionError as error:
            raise AssertionError(f"{error}; instead: {seen}") from None
        away.start()
        wait_until(lambda: cli.run("cluster", "status").returncode == 0, "not healthy again")
