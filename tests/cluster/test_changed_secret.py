"""The cluster secret is changed on three nodes, one after the other, and none is missed."""

from pathlib import Path

import barnabas
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.wait import LIMIT_S, wait_until

OLD, NEW = "the old secret of a cluster", "the new secret of a cluster"
STEPS = [(OLD, NEW), (NEW, OLD), (NEW,)]
READ_AGAIN = "read the changed cluster secret file: this node "
SAID = [
    "uses the same secret as before, and accepts a second one",
    "uses another secret now, and accepts a second one",
    "uses the same secret as before, and accepts no other",
]


class Secrets:
    """A file of its own for each node."""

    def __init__(self, cluster: ClusterProcesses, directory: Path) -> None:
        self._files = {}
        for node_id, node in cluster.nodes.items():
            self._files[node_id] = directory / f"secret-{node_id}"
            node.settings["cluster.secret.file"] = str(self._files[node_id])
            self.write(node, (OLD,))

    def write(self, node: NodeProcess, secrets: tuple[str, ...]) -> None:
        file = self._files[node.node_id]
        draft = file.with_suffix(".new")
        draft.write_text("".join(f"{secret}\n" for secret in secrets))
        draft.rename(file)


def times_read(node: NodeProcess) -> int:
    return node.log.read_text().count(READ_AGAIN)


def test_no_node_is_stopped_to_change_the_secret(tmp_path: Path) -> None:
    cluster = ClusterProcesses(tmp_path, 3)
    secrets = Secrets(cluster, tmp_path)
    with cluster:
        cluster.create_topic("t", min_insync_replicas="3")
        with barnabas.Producer(cluster.bootstrap) as producer:
            for step, files in enumerate(STEPS):
                # One node comes back with the next file, while the others have the one before.
                first = cluster[step + 1]
                secrets.write(first, files)
                first.restart()
                cluster.wait_until_formed()
                producer.send("t", b"%d" % step).result(LIMIT_S)
                others = [node for node in cluster.nodes.values() if node is not first]
                before = {node.node_id: times_read(node) for node in others}
                for node in others:
                    secrets.write(node, files)
                wait_until(
                    lambda others=others, before=before: all(
                        times_read(node) > before[node.node_id] for node in others
                    ),
                    "a node does not read its file again",
                )
                for node in others:
                    assert node.log.read_text().rpartition(READ_AGAIN)[2].startswith(SAID[step])
            # With the old one nobody is let in.
            lost = cluster[1]
            secrets.write(lost, (OLD,))
            lost.stop()
            lost.launch()
            wait_until(
                lambda: "cluster secret differs" in lost.log.read_text(), "the old one is accepted"
            )
            secrets.write(lost, (NEW,))  # read while it starts
            lost.wait_until_ready()
            cluster.wait_until_formed()
            producer.send("t", b"last").result(LIMIT_S)
        for node in cluster.nodes.values():
            log = node.log.read_text()
            assert OLD not in log
            assert NEW not in log
