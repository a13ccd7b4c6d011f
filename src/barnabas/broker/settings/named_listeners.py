"""The listeners of a node: `listeners=INTERNAL://:9092,CLIENTS://:9093`.

Each has a name, a security protocol (`listener.security.protocol.map`, else its name is one), an
address to bind and one to advertise. `HOST:PORT` without a name is a PLAINTEXT listener. Nodes
reach each other by one of them: `inter.broker.listener.name`.

Every node is a broker here, and voters use the inter-broker listener. So listeners that are only
for controllers (`controller.listener.names`) are left out. That is refused if they are protected in
a way in which the inter-broker listener is not: the operator relies on that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from barnabas.broker.settings.component_settings import NodeSettings
from barnabas.metadata.config_values import InvalidConfigError
from barnabas.wire.endpoint import Address, SecurityProtocol

CONTROLLERS = "controller.listener.names"
BOOTSTRAP = "controller.quorum.bootstrap.servers"
_LISTENERS = "listeners"
_ADVERTISED = "advertised.listeners"
_PROTOCOLS = "listener.security.protocol.map"
_INTER_BROKER = "inter.broker.listener.name"
_INTER_BROKER_PROTOCOL = "security.inter.broker.protocol"
_VOTERS = "controller.quorum.voters"
_UNNAMED = SecurityProtocol.PLAINTEXT.name
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_IGNORED = "controllers use the inter-broker listener"


@dataclass(frozen=True, slots=True)
class NamedListener:
    name: str
    protocol: SecurityProtocol
    address: Address
    advertised: Address | None
    """None: the address to bind is advertised."""


@dataclass(frozen=True, slots=True)
class NamedListeners:
    """All listeners of a node, in the order of the setting."""

    every: tuple[NamedListener, ...]
    inter_broker: NamedListener
    left_out: Mapping[int, str]
    """Ports of listeners that are only for controllers, and their names."""

    def __iter__(self) -> Iterator[NamedListener]:
        return iter(self.every)


@dataclass(frozen=True, slots=True)
class _Entry:
    """`NAME://HOST:PORT` in a setting."""

    name: str
    """In capitals; empty if there is none."""
    address: str

    def __str__(self) -> str:
        return f"{self.name}://{self.address}" if self.name else self.address


def read_listeners(
    node: NodeSettings, properties: Mapping[str, str]
) -> tuple[NamedListeners, dict[str, str]]:
    """The listeners, and what was left out, with the reason.

    `properties` are consulted for Kafka's settings of controllers. Raises `InvalidConfigError`.
    """
    controllers = {name.upper() for name in _items(properties.get(CONTROLLERS, ""))}
    protocols = _protocols(node.listener_protocols)
    bound = _entries(_LISTENERS, node.listeners)
    left_out = {f"{_LISTENERS}={each}": _IGNORED for each in bound if each.name in controllers}
    own = [each for each in bound if each.name not in controllers]
    if not own:
        raise InvalidConfigError(
            f"{_LISTENERS}={node.listeners}: every node is a broker; add a listener that is not in "
            f"{CONTROLLERS}, such as {_UNNAMED}://:9092"
        )
    chosen = [_protocol(node.listeners, each, protocols) for each in own]
    advertised = _advertised(node, own, controllers)
    left_out |= {
        f"{_ADVERTISED}={each}": _IGNORED
        for each in _entries(_ADVERTISED, node.advertised_listeners or "")
        if each.name in controllers
    }
    every = tuple(
        NamedListener(
            each.name or _UNNAMED,
            protocol,
            parse_address(each.address, f"{_LISTENERS}={node.listeners}"),
            advertised.get(each.name or _UNNAMED),
        )
        for each, protocol in zip(own, chosen, strict=True)
    )
    _check_ports(node.listeners, every)
    made = NamedListeners(every, _inter_broker(node, every), _ports(bound, controllers))
    for each in bound:
        if each.name in controllers:
            protocol = _protocol(node.listeners, each, protocols)
            _check_as_safe(node.listeners, each, protocol, made.inter_broker)
    if BOOTSTRAP in properties:
        left_out[BOOTSTRAP] = _why_no_bootstrap(properties[BOOTSTRAP], node, bound)
    return made, left_out


def _ports(bound: list[_Entry], controllers: set[str]) -> dict[int, str]:
    found = {}
    for each in bound:
        port = each.address.rpartition(":")[2]
        if each.name in controllers and port.isdecimal():
            found[int(port)] = each.name
    return found


def parse_address(text: str, given: str) -> Address:
    """`HOST:PORT`; `given` is the setting, for the error. Raises `InvalidConfigError`."""
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65535 or "/" in host:
        raise InvalidConfigError(f"{given}: write it as HOST:PORT, for example localhost:9092")
    return Address(host.strip("[]"), int(port))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _entries(setting: str, text: str) -> list[_Entry]:
    entries = []
    for item in _items(text):
        name, _, address = item.rpartition("://")
        entries.append(_Entry(name.upper(), address))
    names = [each.name or _UNNAMED for each in entries]
    for name in names:
        if names.count(name) > 1:
            raise InvalidConfigError(f"{setting}={text}: {name} is there twice; names differ")
    return entries


def _protocols(text: str | None) -> dict[str, SecurityProtocol]:
    """The protocol by the name of the listener."""
    if text is None:
        return {protocol.name: protocol for protocol in SecurityProtocol}
    found = {}
    for item in _items(text):
        name, separator, protocol = (part.strip().upper() for part in item.partition(":"))
        if not separator or not name:
            raise InvalidConfigError(f"{_PROTOCOLS}={text}: write it as NAME:PROTOCOL,...")
        if protocol not in SecurityProtocol.__members__:
            known = ", ".join(SecurityProtocol.__members__)
            raise InvalidConfigError(
                f"{_PROTOCOLS}={text}: there is no protocol {protocol!r}; use one of {known}"
            )
        found[name] = SecurityProtocol[protocol]
    return found


def _protocol(
    text: str, entry: _Entry, protocols: Mapping[str, SecurityProtocol]
) -> SecurityProtocol:
    name = entry.name or _UNNAMED
    protocol = protocols.get(name, None if entry.name else SecurityProtocol.PLAINTEXT)
    if protocol is None:
        raise InvalidConfigError(
            f"{_LISTENERS}={text}: {name} has no protocol; add it to {_PROTOCOLS}, such as "
            f"{name}:{_UNNAMED}"
        )
    return protocol


def _advertised(node: NodeSettings, own: list[_Entry], controllers: set[str]) -> dict[str, Address]:
    """The advertised address by the name of the listener."""
    text = node.advertised_listeners
    if text is None:
        return {}
    given = f"{_ADVERTISED}={text}"
    names = {each.name or _UNNAMED for each in own}
    found = {}
    for each in _entries(_ADVERTISED, text):
        if each.name in controllers:
            continue
        name = each.name or (next(iter(names)) if len(names) == 1 else _UNNAMED)
        if name not in names:
            raise InvalidConfigError(f"{given}: there is no listener {name} in {_LISTENERS}")
        found[name] = parse_address(each.address, given)
    return found


def _check_ports(text: str, listeners: tuple[NamedListener, ...]) -> None:
    ports = [each.address.port for each in listeners if each.address.port]
    if len(set(ports)) < len(ports):
        raise InvalidConfigError(f"{_LISTENERS}={text}: each listener needs its own port")


def _inter_broker(node: NodeSettings, listeners: tuple[NamedListener, ...]) -> NamedListener:
    """As in Kafka: by name, else by protocol, else PLAINTEXT; a single listener needs neither."""
    name, setting = node.inter_broker_listener, _INTER_BROKER
    if name is None and node.inter_broker_protocol is not None:
        name, setting = node.inter_broker_protocol, _INTER_BROKER_PROTOCOL
    elif name is None and len(listeners) == 1:
        return listeners[0]
    by_name = {each.name: each for each in listeners}
    found = by_name.get((name or _UNNAMED).upper())
    if found is not None:
        return found
    if name is None:
        raise InvalidConfigError(
            f"{_LISTENERS}={node.listeners}: say by which of them nodes reach each other, with "
            f"{_INTER_BROKER}={listeners[0].name}"
        )
    raise InvalidConfigError(
        f"{setting}={name}: there is no listener {name.upper()} in {_LISTENERS}={node.listeners}"
    )


def _check_as_safe(
    text: str, entry: _Entry, protocol: SecurityProtocol, used: NamedListener
) -> None:
    if (protocol.has_tls and not used.protocol.has_tls) or (
        protocol.has_sasl and not used.protocol.has_sasl
    ):
        raise InvalidConfigError(
            f"{_LISTENERS}={text}: {entry.name} has the protocol {protocol.name}, and "
            f"{_IGNORED}, {used.name}, which has {used.protocol.name}; protect that one too"
        )


def _why_no_bootstrap(servers: str, node: NodeSettings, bound: list[_Entry]) -> str:
    """Why the setting has no effect; refused if the node would miss its cluster without it."""
    if node.quorum_voters is not None:
        return f"the voters are in {_VOTERS}"
    addresses = {each.address for each in bound}
    addresses |= {each.address for each in _entries(_ADVERTISED, node.advertised_listeners or "")}
    ports = {address.rpartition(":")[2] for address in addresses}
    for server in _items(servers):
        host, _, port = server.rpartition(":")
        if server not in addresses and not (host in _LOCAL and port in ports):
            raise InvalidConfigError(
                f"{BOOTSTRAP}={servers} is not supported; name the voters of the cluster in "
                f"{_VOTERS}=ID@HOST:PORT,..., the same on every node"
            )
    return "this node is the only voter"
