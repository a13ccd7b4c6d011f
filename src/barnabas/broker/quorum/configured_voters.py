"""The voters that a cluster starts with, from `controller.quorum.voters`."""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.settings.named_listeners import parse_address
from barnabas.metadata.config_values import InvalidConfigError
from barnabas.wire.endpoint import Address

SETTING = "controller.quorum.voters"


@dataclass(frozen=True, slots=True)
class Voter:
    """A node id and the address that the node listens on."""

    id: int
    address: Address

    def __str__(self) -> str:
        return f"{self.id}@{self.address}"


def configured_voters(config: BrokerConfig) -> list[Voter]:
    """The configured voters; the node's entry is checked if it is one of them."""
    text = config.node.quorum_voters
    voters = parse_voters(text)
    node_id = config.node.node_id
    own = next((voter for voter in voters if voter.id == node_id), None)
    listener = config.listeners.inter_broker
    listen = listener.address
    if own is not None:
        if not listen.port:
            raise ConfigError(
                f"listeners={config.node.listeners}: a voter needs a port that other nodes know, "
                f"{own.address.port} by {SETTING}"
            )
        reached = {listen.port, (listener.advertised or listen).port}
        if own.address.port in config.listeners.left_out:
            raise ConfigError(_why_not_there(voters, own, config))
        if own.address.port not in reached:
            raise ConfigError(
                f"{SETTING}={text}: node {node_id} is to be reached at {own.address}, and this is "
                f"node {node_id} and listens at {listen}; give the port with --listen, or "
                "another number with --id"
            )
    elif voters and listener.advertised is None and listen.is_wildcard:
        raise ConfigError(
            f"listeners={config.node.listeners}: other nodes need an address to connect to; "
            "give advertised.listeners=HOST:PORT, or --advertise"
        )
    return voters


def _why_not_there(voters: Sequence[Voter], own: Voter, config: BrokerConfig) -> str:
    """The voters are named as for Kafka, by a listener that is only for controllers."""
    listeners = config.listeners
    left_out, used = listeners.left_out, listeners.inter_broker
    port = (used.advertised or used.address).port
    moved = [
        Voter(each.id, Address(each.address.host, port)) if each.address.port in left_out else each
        for each in voters
    ]
    several = len(voters) > 1
    return (
        f"{SETTING}={config.node.quorum_voters}: listener {left_out[own.address.port]} is not "
        f"opened, as controllers use the inter-broker listener, {used.name}; write "
        f"{SETTING}={format_voters(moved)}{', if the others listen on that port too' * several}"
    )


def parse_voters(text: str | None) -> list[Voter]:
    """Read `1@h1:9092,2@h2:9092`, in the order given; none named, none returned."""
    if text is None or not text.strip():
        return []
    voters = [_parse_voter(part.strip(), text) for part in text.split(",")]
    for number, voter in enumerate(voters):
        for other in voters[:number]:
            if voter.id == other.id:
                raise ConfigError(f"{SETTING}={text}: node {voter.id} is named twice")
            if voter.address == other.address:
                raise ConfigError(
                    f"{SETTING}={text}: nodes {other.id} and {voter.id} have the same address"
                )
    return voters


def _parse_voter(part: str, text: str) -> Voter:
    number, separator, address = part.partition("@")
    if (
        not separator
        or "://" in address  # the protocol is that of inter.broker.listener.name
        or not number.isdecimal()
        or int(number) >= 1 << 31
    ):
        raise ConfigError(
            f"{SETTING}={text}: {part!r} is not ID@HOST:PORT, for example "
            "1@host1:9092,2@host2:9092,3@host3:9092"
        )
    try:
        where = parse_address(address, f"{SETTING}={text}")
    except InvalidConfigError as error:
        raise ConfigError(str(error)) from None
    if where.is_wildcard or not where.port:
        raise ConfigError(
            f"{SETTING}={text}: {address!r} is not an address that other nodes can connect to"
        )
    return Voter(int(number), where)


def format_voters(voters: Sequence[Voter]) -> str:
    """The setting's text for these voters."""
    return ",".join(map(str, voters))
