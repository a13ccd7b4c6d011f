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

from barnabas.broker.monitoring.metrics_listener import SETTING as METRICS
from barnabas.broker.monitoring.metrics_listener import metrics_address
from barnabas.broker.net.cluster_secret import NEW_BYTES, SECRET_FILE, new_secret, write_secret
from barnabas.broker.net.cluster_secret import SETTING as SECRET
from barnabas.broker.net.listener import OPEN
from barnabas.broker.net.listeners import bind
from barnabas.broker.quorum.configured_voters import SETTING as VOTERS
from barnabas.broker.quorum.configured_voters import Voter, format_voters
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.named_listeners import NamedListener, NamedListeners
from barnabas.cli.server.local_voters import voting
from barnabas.log import OsDisk
from barnabas.log.directory.data_directory import META_FILE
from barnabas.wire.endpoint import Address

_NAME = "node-"
_LISTENING_PORTS = range(10_240, 32_768)
_NUMBERED = ("node.id", VOTERS)
LOG_FILE = "log.file"

SECURITY_FOLDER = "security"
"""Where `--secure` keeps its files, in the data directory."""
SECURITY_SETTINGS = frozenset({"ssl.keystore.location", "authorizer.class.name", SECRET})
"""Settings that `--secure` sets."""


@dataclass(frozen=True, slots=True)
class LocalNode:
    """One node: its number, where it is reached, and all its settings."""

    node_id: int
    address: Address
    properties: Mapping[str, str]
    is_open: bool = True
    """Whether anybody may connect to that address, without TLS and without signing in."""

    @property
    def name(self) -> str:
        return node_name(self.node_id)


def node_name(node_id: int) -> str:
    return f"{_NAME}{node_id}"


def plan_nodes(properties: Mapping[str, str], count: int) -> list[LocalNode]:
    """Settings for each of `count` nodes, from those given for all. Raises `ConfigError`."""
    config = BrokerConfig(properties)
    for name in _NUMBERED:
        if name in properties:
            raise ConfigError(
                f"{name}={properties[name]} cannot be combined with --nodes, which numbers the "
                "nodes from 1 and chooses the voters"
            )
    for listener in config.listeners:
        if listener.address.is_wildcard and listener.advertised is None:
            raise ConfigError(
                f"listeners={listener.address}: --nodes with a wildcard address needs --advertise "
                "HOST:PORT, the address at which clients reach the first node"
            )
    directory = data_directory(properties)
    check_directory(directory)
    ports = _ports_by_listener(config, count)
    inter_broker = config.listeners.inter_broker
    voters = [
        Voter(number, Address(_inside(inter_broker), ports[inter_broker.name][number - 1]))
        for number in voting(directory, count)
    ]
    secret = {SECRET: properties.get(SECRET, str(directory.absolute() / SECRET_FILE))}
    nodes = []
    for index in range(count):
        bound = [Address(each.address.host, ports[each.name][index]) for each in config.listeners]
        reached = [_advertised(each, ports[each.name], index) for each in config.listeners]
        own = {
            **properties,
            **secret,
            "node.id": str(index + 1),
            "listeners": _format(config.listeners, bound),
            "log.dirs": str(directory / node_name(index + 1)),
            VOTERS: format_voters(voters),
        }
        metrics = properties.get(METRICS)
        if metrics:
            first = metrics_address(metrics)
            port = first.port and first.port + index
            own[METRICS] = str(Address(first.host, port))
        log_file = properties.get(LOG_FILE)
        if log_file:
            path = Path(log_file)
            own[LOG_FILE] = str(path.with_stem(f"{path.stem}-{index + 1}"))
        if any(each.advertised for each in config.listeners):
            own["advertised.listeners"] = _format(config.listeners, reached)
        is_open = config.listeners.every[0].protocol is OPEN.protocol
        nodes.append(LocalNode(index + 1, reached[0], own, is_open))
    return nodes


def plan_another(nodes: Sequence[LocalNode]) -> LocalNode:
    """Settings of one more node, which joins the quorum of the others without a vote.

    Its ports follow those of the last node, if they are free. Raises `ConfigError`.
    """
    first, last = nodes[0], nodes[-1]
    number = last.node_id + 1
    listeners = BrokerConfig(last.properties).listeners
    bound, reached = [], []
    for each in listeners:
        port = _port_after(each.address)
        bound.append(Address(each.address.host, port))
        host, known = _inside(each), each.address.port
        if each.advertised is not None:
            host, known = each.advertised.host, each.advertised.port
        reached.append(Address(host, known + port - each.address.port))
    directory = Path(last.properties["log.dirs"]).parent
    own = {
        **last.properties,
        "node.id": str(number),
        "listeners": _format(listeners, bound),
        "log.dirs": str(directory / node_name(number)),
    }
    if any(each.advertised for each in listeners):
        own["advertised.listeners"] = _format(listeners, reached)
    if metrics := last.properties.get(METRICS):
        address = metrics_address(metrics)
        own[METRICS] = str(Address(address.host, address.port and address.port + 1))
    if log_file := first.properties.get(LOG_FILE):
        path = Path(log_file)
        own[LOG_FILE] = str(path.with_stem(f"{path.stem.removesuffix('-1')}-{number}"))
    return LocalNode(number, reached[0], own, first.is_open)


def _port_after(address: Address) -> int:
    """The next port if it is free, another one otherwise."""
    following = Address(address.host, address.port + 1)
    try:
        for listening in bind(following):
            listening.close()
    except ConfigError:
        return _free_ports(1)[0]
    return following.port


def check_new(node: LocalNode) -> None:
    """Raise `ConfigError` if there is data of a node with this number."""
    directory = Path(node.properties["log.dirs"])
    if directory.exists():
        raise ConfigError(
            f"{directory} exists: start the cluster with --nodes {node.node_id} to run that node "
            "too, or remove the directory"
        )


def _inside(listener: NamedListener) -> str:
    """The host by which the nodes, on this machine, reach each other."""
    return "localhost" if listener.address.is_wildcard else listener.address.host


def _advertised(listener: NamedListener, ports: Sequence[int], index: int) -> Address:
    if listener.advertised is None:
        return Address(_inside(listener), ports[index])
    first = listener.advertised.port or ports[0]
    return Address(listener.advertised.host, first + ports[index] - ports[0])


def _format(listeners: NamedListeners, addresses: Sequence[Address]) -> str:
    if [each.name for each in listeners] == [OPEN.name]:
        return str(addresses[0])
    pairs = zip(listeners, addresses, strict=True)
    return ",".join(f"{listener.name}://{address}" for listener, address in pairs)


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
            for listener in BrokerConfig(node.properties).listeners:
                for listening in bind(listener.address):
                    held.enter_context(listening)


def data_directory(properties: Mapping[str, str]) -> Path:
    return Path(properties.get("log.dirs") or BROKER_CONFIGS["log.dirs"].default or "")


def check_not_secured(properties: Mapping[str, str]) -> None:
    """Do not open a secured cluster because of a forgotten option. Raises `ConfigError`."""
    directory = data_directory(properties)
    if (directory / SECURITY_FOLDER).exists() and not SECURITY_SETTINGS & properties.keys():
        raise ConfigError(
            f"{directory} holds a secured cluster: start it with --secure, or with settings of "
            f"your own that secure it. To open it to everybody, remove "
            f"{directory / SECURITY_FOLDER}"
        )


def check_directory(directory: Path) -> None:
    """Data of a single node is not to be taken for that of a cluster."""
    if (directory / META_FILE).exists():
        raise ConfigError(
            f"{directory} holds the data of a single node; start it without --nodes, or choose "
            "another directory with --data"
        )


def check_single_directory(properties: Mapping[str, str]) -> None:
    """And the other way round."""
    directory = data_directory(properties)
    if (directory / node_name(1) / META_FILE).exists() and not (directory / META_FILE).exists():
        raise ConfigError(
            f"{directory} holds the data of a local cluster; start it with --nodes, or choose "
            f"the directory of one node, such as {directory / node_name(1)}"
        )


def cluster_id_of(directory: Path) -> str:
    """The id of the cluster that the data of a node belongs to."""
    lines = (directory / META_FILE).read_text(encoding="utf-8").splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("cluster.id="))


def nodes_beyond(directory: Path, count: int) -> list[int]:
    """The nodes with data here and higher numbers than those that are being started."""
    numbers = [each.name.removeprefix(_NAME) for each in directory.glob(f"{_NAME}*")]
    return [n for n in sorted(int(n) for n in numbers if n.isdecimal()) if n > count]


def _ports_by_listener(config: BrokerConfig, count: int) -> dict[str, list[int]]:
    ports = {each.name: _ports(each.address, count) for each in config.listeners}
    taken = [port for each in ports.values() for port in each]
    if len(set(taken)) < len(taken):
        raise ConfigError(
            f"listeners={config.node.listeners}: {count} nodes need {count} consecutive ports for "
            "each listener; choose ports that are further apart"
        )
    return ports


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
