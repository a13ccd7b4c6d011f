"""The nodes of a cluster on one machine: what `barnabas server --nodes N` gives each of them.

Nodes are numbered from 1, keep their data in node-1, node-2, ... below the directory that is given,
and listen on consecutive ports, or on free ones if port 0 is asked for.
"""

import contextlib
import random
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.broker.net.cluster_secret import NEW_BYTES, SECRET_FILE, new_secret, write_secret
from barnabas.broker.net.cluster_secret import SETTING as SECRET
from barnabas.broker.net.listeners import bind, parse_listener
from barnabas.broker.quorum.configured_voters import SETTING as VOTERS
from barnabas.broker.quorum.configured_voters import Voter, format_voters
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.log import OsDisk
from barnabas.log.directory.data_directory import META_FILE
from barnabas.wire.endpoint import Address

_NAME = "node-"
_LISTENING_PORTS = range(10_240, 32_768)
_NUMBERED = ("node.id", VOTERS)


@dataclass(frozen=True, slots=True)
class LocalNode:
    """One node: its number, where it is reached, and all its settings."""

    node_id: int
    address: Address
    properties: Mapping[str, str]

    @property
    def name(self) -> str:
        return node_name(self.node_id)


def node_name(node_id: int) -> str:
    return f"{_NAME}{node_id}"


def plan_nodes(properties: Mapping[str, str], count: int) -> list[LocalNode]:
    """Settings for each of `count` nodes, from those given for all. Raises `ConfigError`."""
    given = BrokerConfig(properties).static
    for name in _NUMBERED:
        if name in properties:
            raise ConfigError(
                f"{name}={properties[name]} cannot be combined with --nodes, which numbers the "
                "nodes from 1 and makes all of them voters"
            )
    listen = _base_address(given, "listeners")
    assert listen is not None
    advertised = _base_address(given, "advertised.listeners")
    if listen.is_wildcard and advertised is None:
        raise ConfigError(
            f"listeners={listen}: --nodes with a wildcard address needs --advertise HOST:PORT, the "
            "address at which clients reach the first node"
        )
    directory = Path(properties.get("log.dirs") or BROKER_CONFIGS["log.dirs"].default or "")
    check_directory(directory)
    ports = _ports(listen, count)
    inside = "localhost" if listen.is_wildcard else listen.host
    voters = [Voter(number, Address(inside, port)) for number, port in enumerate(ports, 1)]
    secret = {SECRET: properties.get(SECRET, str(directory.absolute() / SECRET_FILE))}
    nodes = []
    for number, port in enumerate(ports, 1):
        own = {
            **properties,
            **secret,
            "node.id": str(number),
            "listeners": str(Address(listen.host, port)),
            "log.dirs": str(directory / node_name(number)),
            VOTERS: format_voters(voters),
        }
        reached = Address(inside, port)
        if advertised is not None:
            reached = Address(advertised.host, (advertised.port or ports[0]) + port - ports[0])
            own["advertised.listeners"] = str(reached)
        nodes.append(LocalNode(number, reached, own))
    return nodes


def make_secret(nodes: Sequence[LocalNode]) -> None:
    """Make the secret that the nodes share, if it is not there yet. Raises `ConfigError`."""
    path = Path(nodes[0].properties[SECRET])
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_secret(OsDisk(), str(path), new_secret(secrets.token_bytes(NEW_BYTES)))
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error


def check_ports(nodes: Sequence[LocalNode]) -> None:
    """Raise `ConfigError` if one of the nodes could not listen, before any of them is started."""
    with contextlib.ExitStack() as held:  # all at a time: two nodes can not share a port either
        for node in nodes:
            for listening in bind(parse_listener(node.properties["listeners"], "listeners")):
                held.enter_context(listening)


def check_directory(directory: Path) -> None:
    """Data of a single node is not to be taken for that of a cluster."""
    if (directory / META_FILE).exists():
        raise ConfigError(
            f"{directory} holds the data of a single node; start it without --nodes, or choose "
            "another directory with --data"
        )


def check_single_directory(properties: Mapping[str, str]) -> None:
    """And the other way round."""
    directory = Path(properties.get("log.dirs") or BROKER_CONFIGS["log.dirs"].default or "")
    if (directory / node_name(1) / META_FILE).exists() and not (directory / META_FILE).exists():
        raise ConfigError(
            f"{directory} holds the data of a local cluster; start it with --nodes, or choose "
            f"the directory of one node, such as {directory / node_name(1)}"
        )


def nodes_beyond(directory: Path, count: int) -> list[str]:
    """The directories of nodes with higher numbers than those that are being started."""
    numbers = [each.name.removeprefix(_NAME) for each in directory.glob(f"{_NAME}*")]
    return [node_name(n) for n in sorted(int(n) for n in numbers if n.isdecimal()) if n > count]


def _base_address(properties: Mapping[str, str], setting: str) -> Address | None:
    text = properties.get(setting, BROKER_CONFIGS[setting].default)
    return None if text is None else parse_listener(text, setting)


def _ports(listen: Address, count: int) -> list[int]:
    if listen.port:
        last = listen.port + count - 1
        if last > 65535:
            raise ConfigError(f"listeners={listen}: {count} nodes need ports up to {last}")
        return list(range(listen.port, last + 1))
    return _free_ports(count)


def _free_ports(count: int) -> list[int]:
    """Free ports, below those that systems give to outgoing connections.

    One of those could be taken while a node is started again, even by another node that tries to
    reach it.
    """
    ports: set[int] = set()
    for port in random.sample(_LISTENING_PORTS, len(_LISTENING_PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            ports.add(port)
        if len(ports) == count:
            return sorted(ports)
    raise ConfigError(f"no {count} free ports found; choose the first one with --listen")
