"""`barnabas server --secure`: a cluster with TLS, users and access rules from its first start on.

Its CA, certificates and administrator are in the folder `security` of the data directory. They are
made at the first start.
"""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace

from barnabas.broker.settings.config import ConfigError
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.cli.server.local_nodes import (
    SECURITY_FOLDER,
    SECURITY_SETTINGS,
    LocalNode,
    data_directory,
    node_name,
)
from barnabas.log.directory.data_directory import META_FILE
from barnabas.security.setup.cluster_files import ClusterFiles, NodeHosts, SetupError

_PROTOCOL = "SASL_SSL"
_LISTENERS = ("listeners", "advertised.listeners")


class SecuredData:
    """The data directory of a cluster that is started with `--secure`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._directory = data_directory(properties)
        self.files = ClusterFiles(self._directory / SECURITY_FOLDER)

    def check(self, properties: Mapping[str, str], *, is_alone: bool) -> dict[str, str]:
        """Raise `ConfigError` if `prepare` would; the settings without those that it adds."""
        if is_alone and "controller.quorum.voters" in properties:
            raise ConfigError(
                "--voters can't be combined with --secure; make the files of a cluster on several "
                "machines with `barnabas security init`"
            )
        named = with_protocol(properties)
        if not self.files.exist:
            self._check_new()
        return named

    def prepare(self, properties: Mapping[str, str], count: int) -> dict[str, str]:
        """Make the files if they are missing; the settings of the first node.

        Raises `ConfigError`.
        """
        named = with_protocol(properties)
        if not self.files.exist:
            self._check_new()
            hosts = _hosts(named)
            try:
                # Records and the keys of users are in files that others could read otherwise.
                self._directory.mkdir(parents=True, exist_ok=True)
                self._directory.chmod(0o700)
                self.files.make([NodeHosts(number, hosts) for number in range(1, count + 1)])
            except OSError as error:
                raise ConfigError(f"can't write {self.files.folder}: {error.strerror}") from error
        self._add_missing(named, count)
        return {**named, **self.files.node_settings(1)}

    def secured(self, nodes: Sequence[LocalNode]) -> list[LocalNode]:
        """The nodes, each with its own certificate."""
        return [
            replace(node, properties={**node.properties, **self.files.node_settings(node.node_id)})
            for node in nodes
        ]

    def secured_later(self, node: LocalNode) -> LocalNode:
        """A node that is added while the cluster runs. Raises `ConfigError`."""
        self._add_missing(node.properties, node.node_id)
        (found,) = self.secured([node])
        return found

    def name_servers(self, servers: str) -> None:
        """Write into the administrator's file where the nodes are. Raises `ConfigError`."""
        try:
            self.files.name_servers(servers)
        except OSError as error:
            path = self.files.administrator_file
            raise ConfigError(f"can't write {path}: {error.strerror}") from error

    def how_to_connect(self, servers: str) -> str:
        return (
            f"Connect as the administrator: barnabas topics list -b {servers} --command-config "
            f"{self.files.administrator_file}"
        )

    def _check_new(self) -> None:
        for directory in (self._directory, self._directory / node_name(1)):
            if (directory / META_FILE).exists():
                raise ConfigError(
                    f"{self._directory} holds a cluster that was not begun with --secure; "
                    "docs/security.md says how to close an open cluster step by step"
                )

    def _add_missing(self, properties: Mapping[str, str], count: int) -> None:
        """More nodes than there were at the first start."""
        try:
            for number in set(range(1, count + 1)).difference(self.files.node_ids):
                self.files.add(NodeHosts(number, _hosts(properties)))
        except (OSError, SetupError) as error:
            raise ConfigError(str(error)) from error


def with_protocol(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings with the protocol in front of addresses. Raises `ConfigError`."""
    own = sorted(SECURITY_SETTINGS & properties.keys())
    if own:
        raise ConfigError(f"{own[0]} can't be combined with --secure, which sets it itself")
    made = {"listeners": BROKER_CONFIGS["listeners"].default or "", **properties}
    for setting in _LISTENERS:
        if setting not in made:
            continue
        name, separator, address = made[setting].rpartition("://")
        if (separator and name not in ("PLAINTEXT", _PROTOCOL)) or "," in address:
            raise ConfigError(
                f"{setting}={made[setting]}: --secure makes one listener; give HOST:PORT"
            )
        made[setting] = f"{_PROTOCOL}://{address}"
    return made


def _hosts(properties: Mapping[str, str]) -> tuple[str, ...]:
    """By which the nodes of this machine may be reached."""
    given = [
        properties[setting].rpartition("://")[2].rpartition(":")[0].strip("[]")
        for setting in _LISTENERS
        if setting in properties
    ]
    names = [host for host in given if host and host not in ("0.0.0.0", "::", "*")]  # noqa: S104 - not bound
    return tuple(dict.fromkeys(("localhost", "127.0.0.1", "::1", socket.gethostname(), *names)))
