"""Ports that stay a cluster's own, also while the node that listens at one is down."""

import random
import socket
import sys

from barnabas.embedded.errors import ClusterError

HOST = "127.0.0.1"
_LISTENING_PORTS = range(10_240, 32_768)
"""Below those that systems give to outgoing connections."""
_ATTEMPTS = 2_000
_choice = random.SystemRandom()


class Ports:
    """A number of free ports of this machine.

    On Linux a socket that is bound and does not listen keeps others away from its port, but not
    who reuses addresses, as nodes do. On macOS that would keep nodes away too, so there a port is
    only known to have been free a moment ago.
    """

    def __init__(self, count: int) -> None:
        self.numbers: list[int] = []
        self._held: list[socket.socket] = []
        for _ in range(_ATTEMPTS):
            if len(self.numbers) == count:
                return
            self._try(_choice.choice(_LISTENING_PORTS))
        self.close()
        raise ClusterError(f"no {count} free ports between 10240 and 32767; stop some servers")

    def _try(self, port: int) -> None:
        probe = socket.socket()
        try:
            probe.bind((HOST, port))
        except OSError:
            probe.close()
            return
        self.numbers.append(port)
        if sys.platform == "linux":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held.append(probe)
        else:
            probe.close()

    def close(self) -> None:
        for held in self._held:
            held.close()
        self._held = []
