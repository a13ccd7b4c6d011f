"""Who is cut off from whom, in a cluster whose traffic goes through a forwarder."""

import json
from collections.abc import Collection

from barnabas.embedded.errors import ClusterError
from barnabas.embedded.launcher import Launcher

CLIENTS = 0
"""The other end of a link that joins a node with the clients."""

Link = frozenset[int]


class Network:
    """The links of a cluster, all of them whole at first."""

    def __init__(self, launcher: Launcher, fronts: Collection[tuple[int, int, int]]) -> None:
        """`fronts`: for each node its number, the port of its front, and its own port."""
        self._launcher = launcher
        self._nodes = frozenset(node_id for node_id, _, _ in fronts)
        self.cuts: frozenset[Link] = frozenset()
        self._pid, self._control = launcher.start_network(list(fronts))
        self._answers = self._control.makefile("rb")
        self._expect(b"ready\n")

    def isolate(self, inside: Collection[int], *, from_clients: bool) -> None:
        """Cut these nodes off from the others; among themselves they stay connected."""
        outside = self._nodes.difference(inside) | ({CLIENTS} if from_clients else frozenset())
        self._cut(self.cuts | {frozenset((a, b)) for a in inside for b in outside})

    def heal(self, nodes: Collection[int]) -> None:
        """Mend all links of these nodes."""
        self._cut(frozenset(link for link in self.cuts if link.isdisjoint(nodes)))

    def reaches_majority(self, node_id: int) -> bool:
        """Whether it and those that it is connected with are more than half of all nodes."""
        cut_off = sum(frozenset((node_id, other)) in self.cuts for other in self._nodes)
        return 2 * (len(self._nodes) - cut_off) > len(self._nodes)

    def _cut(self, cuts: frozenset[Link]) -> None:
        self.cuts = cuts
        self._control.sendall(json.dumps([sorted(link) for link in cuts]).encode() + b"\n")
        self._expect(b"done\n")

    def _expect(self, answer: bytes) -> None:
        if self._answers.readline() != answer:
            raise ClusterError(
                "the process that forwards the cluster's traffic has ended; close the cluster and "
                "start another one"
            )

    def close(self) -> None:
        self._answers.close()
        self._control.close()
        self._launcher.end(self._pid)
