"""What a node says whose data directory was removed."""

from pathlib import Path

import pytest

from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

PARTITIONS = 3


@pytest.mark.long
def test_replicas_of_a_new_data_directory_are_reported_once(tmp_path: Path) -> None:
    with ClusterProcesses(tmp_path) as cluster:
        cluster.create_topic("orders", PARTITIONS)
        node = cluster[2]
        node.stop()
        node.wipe()
        node.log.write_text("")
        cluster.start()
        cluster.wait_until_whole()
        said = f"the data directory is new; {PARTITIONS} replicas are fetched from other nodes"
        wait_until(lambda: said in node.log.read_text(), "it does not say what it fetches")
        text = node.log.read_text()
        assert text.count(said) == 1
        assert "lost power" not in text
        assert "ERROR" not in text
