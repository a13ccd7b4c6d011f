"""The nodes that a cluster starts with, as `controller.quorum.voters` names them."""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.broker.config import ConfigError
from barnabas.broker.net.listeners import Address, parse_address

SETTING = "controller.quorum.voters"


@dataclass(frozen=True, slots=True)
class Voter:
    """A node id and where that node listens."""

    id: int
    address: Address

    def __str__(self) -> str:
        return f"{self.id}@{self.address}"


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
    if not separator or not number.isdecimal() or int(number) >= 1 << 31:
        raise ConfigError(
            f"{SETTING}={text}: {part!r} is not ID@HOST:PORT, for example "
            "1@host1:9092,2@host2:9092,3@host3:9092"
        )
    where = parse_address(address, SETTING)
    if where.is_wildcard or not where.port:
        raise ConfigError(
            f"{SETTING}={text}: {address!r} is not an address that other nodes can connect to"
        )
    return Voter(int(number), where)


def format_voters(voters: Sequence[Voter]) -> str:
    """The setting's text for these voters."""
    return ",".join(map(str, voters))
