"""Clusters as options name them: NAME=HOST:PORT or HOST:PORT, and a file with client settings."""

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.output import say
from barnabas.cli.base.properties import read_properties

if TYPE_CHECKING:
    from barnabas.mirror.flow import ClusterEnd

_BOOTSTRAP = "bootstrap.servers"
_OF_SECURITY = ("security.", "ssl.", "sasl.", "https.")
_UNNAMED = "unnamed"


def cluster_of(option: str, text: str, config: Path | None) -> "ClusterEnd":
    """The cluster that an option names; settings of `--command-config` are not used for it.

    Without a name it is called by its id, which its brokers are asked for. If the file has
    `bootstrap.servers`, the name alone is enough.
    """
    from barnabas.mirror.flow import ClusterEnd

    given = {} if config is None else read_properties(config, f"{option}-config")
    servers = given.pop(_BOOTSTRAP, "")
    for name in [each for each in given if not each.startswith(_OF_SECURITY)]:
        del given[name]
        say(f"warning: ignored {name} of {config}: only security settings are read")
    name, separator, address = text.rpartition("=")
    if not separator and servers and ":" not in text:
        name, address = text, servers
    if not address or (separator and not name):
        raise UsageError(f"{option} {text}: write HOST:PORT, or NAME=HOST:PORT")
    if name:
        return ClusterEnd(name, address, given)
    return _named_by_id(option, ClusterEnd(_UNNAMED, address, given))


def _named_by_id(option: str, end: "ClusterEnd") -> "ClusterEnd":
    """Raises `UsageError` if the brokers do not tell an id."""
    import asyncio
    from dataclasses import replace

    from barnabas.errors import BarnabasError

    async def ask() -> str | None:
        async with end.client() as cluster:
            await cluster.refresh([])
            return cluster.cluster_id

    what_to_do = f"write {option} NAME={end.bootstrap_servers}, with the name that the flow has"
    try:
        found = asyncio.run(ask())
    except BarnabasError as error:
        raise UsageError(f"the id of the cluster is not known: {error}; {what_to_do}") from error
    if not found:
        raise UsageError(f"{end.bootstrap_servers} does not report its cluster id; {what_to_do}")
    say(f"the cluster at {end.bootstrap_servers} is named {found}, after its id")
    return replace(end, name=found)
