"""Hosts in network namespaces on one switch, and cuts between them, also in one direction only.

    host 0 (clients)   host 1   host 2   host 3        each a namespace with one interface, eth0
           \\              |        |        /
            +---------- bridge, in a namespace of its own ----------+

No namespace has a way out, so whatever a test sends stays among its own hosts. A cut is made by
telling the sender a wrong link address for the receiver: its frames go to an unused address.
Nothing is refused and neither side is notified, as with a cable that is unplugged somewhere on the
way. It takes effect on open connections too, and needs neither a packet filter nor a traffic shaper
in the kernel.
"""

import contextlib
import ctypes
import itertools
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.support.machine import find_tool, missing

CLIENTS = 0
"""The host on which the test's own clients run."""

_UNUSED_ADDRESS = "02:00:00:00:ff:ff"
_CLONE_NEWNET = 0x40000000
_numbers = itertools.count()
_libc = ctypes.CDLL(None, use_errno=True)


class NetworkUnavailable(Exception):
    """This machine does not let us make network namespaces; the text says why."""


class Network:
    """Hosts 0 to `hosts`: number 0 is for clients, the others for nodes of the same number."""

    def __init__(self, hosts: int) -> None:
        if os.geteuid() != 0:
            raise NetworkUnavailable("network namespaces take root")
        self._prefix = f"barnabas-{os.getpid()}-{next(_numbers)}"
        self._hosts = range(hosts + 1)
        self._cuts: set[tuple[int, int]] = set()
        self._made: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._make()
        except NetworkUnavailable:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make(self) -> None:
        switch = f"{self._prefix}-switch"
        self._add_namespace(switch)
        _ip("link add bridge type bridge", inside=switch)
        _ip("link set bridge up", inside=switch)
        for host in self._hosts:
            name = self._name(host)
            self._add_namespace(name)
            _ip(
                f"link add eth0 address {_link_address(host)} type veth"
                f" peer name port{host} netns {switch}",
                inside=name,
            )
            _ip(f"link set port{host} master bridge up", inside=switch)
            _ip(f"addr add {self.address(host)}/24 dev eth0", inside=name)
            _ip("link set eth0 up", inside=name)
            _ip("link set lo up", inside=name)
        for sender, receiver in itertools.permutations(self._hosts, 2):
            self._point(sender, receiver, _link_address(receiver))

    def _add_namespace(self, name: str) -> None:
        _ip(f"netns add {name}")
        self._made.append(name)

    def close(self) -> None:
        """Take it all down; interfaces go with their namespaces."""
        while self._made:
            _ip(f"netns del {self._made.pop()}")

    # -- hosts -----------------------------------------------------------------------------------

    def address(self, host: int) -> str:
        return f"192.0.2.{host + 1}"  # reserved for examples: no such host exists anywhere

    def command(self, host: int) -> list[str]:
        """What to put before a command so that it runs on a host, as the same process."""
        return _entering(self._name(host))

    @contextlib.contextmanager
    def inside(self, host: int) -> Iterator[None]:
        """Put this thread, and all threads that it starts meanwhile, on a host."""
        with Path(f"/proc/self/task/{threading.get_native_id()}/ns/net").open("rb") as before:
            with Path(f"/run/netns/{self._name(host)}").open("rb") as namespace:
                _enter(namespace.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    # -- cuts ------------------------------------------------------------------------------------

    def cut(self, sender: int, receiver: int) -> None:
        """Lose whatever one host sends to another, in this direction only."""
        if sender != receiver and (sender, receiver) not in self._cuts:
            self._cuts.add((sender, receiver))
            self._point(sender, receiver, _UNUSED_ADDRESS)

    def cut_both_ways(self, one: int, *others: int) -> None:
        for other in others:
            self.cut(one, other)
            self.cut(other, one)

    def heal(self) -> None:
        """Undo all cuts."""
        while self._cuts:
            sender, receiver = self._cuts.pop()
            self._point(sender, receiver, _link_address(receiver))

    def _point(self, sender: int, receiver: int, link_address: str) -> None:
        _ip(
            f"neigh replace {self.address(receiver)} lladdr {link_address} nud permanent dev eth0",
            inside=self._name(sender),
        )

    def _name(self, host: int) -> str:
        return f"{self._prefix}-{host}"


def _link_address(host: int) -> str:
    return f"02:00:00:00:00:{host + 1:02x}"


def _entering(namespace: str) -> list[str]:
    # `ip -n` would do, but mounts a /sys too, which is not possible in each container and chroot.
    return ["nsenter", f"--net=/run/netns/{namespace}", "--"]


def _ip(arguments: str, inside: str | None = None) -> None:
    tool = find_tool("ip")
    if tool is None:
        raise NetworkUnavailable(missing("ip"))
    command = [str(tool), *arguments.split()]
    if inside is not None:
        command = [*_entering(inside), *command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NetworkUnavailable(f"{' '.join(command)}: {done.stderr.strip()}")


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "can't enter the network namespace")
