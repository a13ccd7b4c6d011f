"""Kafka's listeners with names: `listeners=PLAINTEXT://:9092,CONTROLLER://:9093`.

A node has one listener here, for clients, brokers and controllers. Listeners of controllers are
left out, other names are replaced by their protocol. A listener that is to be encrypted or to
authenticate its clients is refused, also if it is one of controllers: the operator relies on that
setting.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.metadata.config_values import InvalidConfigError

_PROTOCOLS = "listener.security.protocol.map"
_CONTROLLERS = "controller.listener.names"
_VOTERS = "controller.quorum.voters"
_BOOTSTRAP = "controller.quorum.bootstrap.servers"
_SETTINGS = ("listeners", "advertised.listeners")
_PLAINTEXT = "PLAINTEXT"
_LOCAL = ("localhost", "127.0.0.1", "[::1]")

_IGNORED = "controllers use the broker's listener"
_READ = "a node has one listener, without encryption and authentication"


@dataclass(frozen=True, slots=True)
class _Listener:
    name: str
    """In capitals; empty if there is none."""
    address: str

    def __str__(self) -> str:
        return f"{self.name}://{self.address}" if self.name else self.address


def with_one_listener(properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The properties without names of listeners, and what was left out, with the reason.

    Raises `InvalidConfigError`.
    """
    made, left_out = dict(properties), {}
    protocols = _protocols(made.pop(_PROTOCOLS, ""))
    if _PROTOCOLS in properties:
        left_out[_PROTOCOLS] = _READ
    controllers = {name.upper() for name in _entries(properties.get(_CONTROLLERS, ""))}
    own: list[_Listener] = []  # also those of controllers
    for setting in _SETTINGS:
        if setting not in properties:
            continue
        given = f"{setting}={properties[setting]}"
        kept = []
        listeners = [_parse(entry) for entry in _entries(properties[setting])]
        for listener in listeners:
            _check_protocol(given, listener, protocols)
            if listener.name in controllers:
                left_out[f"{setting}={listener}"] = _IGNORED
            else:
                kept.append(listener)
        if len(kept) > 1:
            raise InvalidConfigError(
                f"{given}: one listener is supported; remove the others, or name those of "
                f"controllers in {_CONTROLLERS}"
            )
        if listeners and not kept:
            raise InvalidConfigError(
                f"{given}: every node is a broker; add a listener that is not in {_CONTROLLERS}, "
                "such as PLAINTEXT://:9092"
            )
        for listener in kept:
            made[setting] = str(_Listener(listener.name and _PLAINTEXT, listener.address))
        own += listeners
    if _BOOTSTRAP in made:
        left_out[_BOOTSTRAP] = _why_no_bootstrap(made.pop(_BOOTSTRAP), made, own)
    return made, left_out


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _parse(text: str) -> _Listener:
    name, _, address = text.rpartition("://")
    return _Listener(name.upper(), address)


def _protocols(text: str) -> dict[str, str]:
    """The protocol by the name of the listener."""
    found = {}
    for entry in _entries(text):
        name, separator, protocol = entry.partition(":")
        if not separator or not name or not protocol:
            raise InvalidConfigError(f"{_PROTOCOLS}={text}: write it as NAME:PROTOCOL,...")
        found[name.strip().upper()] = protocol.strip().upper()
    return found


def _check_protocol(given: str, listener: _Listener, protocols: Mapping[str, str]) -> None:
    protocol = protocols.get(listener.name, listener.name or _PLAINTEXT)
    if protocol == _PLAINTEXT:
        return
    if listener.name in protocols:
        raise InvalidConfigError(
            f"{given}: {listener.name} has the protocol {protocol}, which is not supported; use "
            "PLAINTEXT, in a network that you trust"
        )
    raise InvalidConfigError(
        f"{given}: {protocol} is not supported, only PLAINTEXT (or no scheme at all)"
    )


def _why_no_bootstrap(servers: str, properties: Mapping[str, str], own: list[_Listener]) -> str:
    """Why the setting has no effect; refused if the node would miss its cluster without it."""
    if _VOTERS in properties:
        return f"the voters are in {_VOTERS}"
    addresses = {listener.address for listener in own}
    ports = {address.rpartition(":")[2] for address in addresses}
    for server in _entries(servers):
        host, _, port = server.rpartition(":")
        if server not in addresses and not (host in _LOCAL and port in ports):
            raise InvalidConfigError(
                f"{_BOOTSTRAP}={servers} is not supported; name the voters of the cluster in "
                f"{_VOTERS}=ID@HOST:PORT,..., the same on every node"
            )
    return "this node is the only voter"
