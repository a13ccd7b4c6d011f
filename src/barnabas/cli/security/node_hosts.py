"""Nodes as they are given on the command line: `1=host1.example.com`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError

if TYPE_CHECKING:
    from barnabas.security.setup.cluster_files import NodeHosts

_NODE = "write a node as ID=HOST or ID=HOST,OTHER, for example 1=host1.example.com"


def parse_nodes(given: Sequence[str]) -> "list[NodeHosts]":
    """Raises `CommandError`."""
    from barnabas.security.setup.cluster_files import NodeHosts

    nodes = []
    for text in given:
        number, separator, hosts = text.partition("=")
        found = tuple(host.strip() for host in hosts.split(",") if host.strip())
        if not separator or not number.strip().isdecimal() or not found:
            raise CommandError(f"{text}: {_NODE}", exit_codes.USAGE)
        nodes.append(NodeHosts(int(number), found))
    if len({node.node_id for node in nodes}) < len(nodes):
        raise CommandError("two nodes have the same id", exit_codes.USAGE)
    return nodes


_SEVERAL = 3
PROPOSED = {"metrics.listeners": "127.0.0.1:9404", "auto.create.topics.enable": "false"}
"""Settings that fit most clusters in production, and that the operator decides about."""


def server_settings(
    node: "NodeHosts", port: int, voters: str, data: Path, security: Mapping[str, str]
) -> dict[str, str]:
    """All settings of a node."""
    host = node.hosts[0]
    # Otherwise an acknowledged record may be on one disk only.
    durable = {"min.insync.replicas": "2"} if voters.count(",") + 1 >= _SEVERAL else {}
    return {
        "node.id": str(node.node_id),
        "listeners": f"SASL_SSL://0.0.0.0:{port}",
        "advertised.listeners": f"SASL_SSL://{_bracketed(host)}:{port}",
        "controller.quorum.voters": voters,
        "log.dirs": str(data),
        **durable,
        **security,
    }


def voters_of(nodes: "Sequence[NodeHosts]", port: int) -> str:
    return ",".join(f"{node.node_id}@{_bracketed(node.hosts[0])}:{port}" for node in nodes)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
