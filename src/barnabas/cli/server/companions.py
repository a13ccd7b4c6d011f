"""What `server --console` and `--registry` bring along: child processes that end with the server.

They listen on localhost. Where the cluster is secured, users of both sign in.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.console_extra import check_console_installed
from barnabas.cli.base.properties import read_properties
from barnabas.client.connect.address import parse_addresses

_DEFAULT = "localhost:9092"
_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - replaced here
_REGISTRY_VARIABLE = "BARNABAS_REGISTRY"
_END_S = 10


def servers_of(properties: Mapping[str, str]) -> str:
    """Where this machine reaches a node with these settings. Raises `UsageError`."""
    named = properties.get("advertised.listeners") or properties.get("listeners") or _DEFAULT
    first = named.split(",")[0]
    (address,) = parse_addresses(first.partition("://")[2] or first)
    if not address.port:
        raise UsageError(
            "--console and --registry need to know the port: give --listen HOST:PORT, not port 0"
        )
    host = "localhost" if address.host in _WILDCARDS else address.host
    return f"{host}:{address.port}"


class Companions(NamedTuple):
    """The ports of what runs beside the nodes, None for what does not."""

    console: int | None = None
    registry: int | None = None

    @property
    def any(self) -> bool:
        return self.console is not None or self.registry is not None


@contextmanager
def with_companions(
    servers: str | None, wanted: Companions, administrator: Path | None = None
) -> Iterator[None]:
    """Run a console and a registry of the servers, as wanted, for as long as the block."""
    if servers is None:
        yield
        return
    with ExitStack() as open_ones:
        if wanted.registry is not None:
            command = ["registry", "--bootstrap", servers]
            command += ["--listen", f"localhost:{wanted.registry}"]
            if administrator is not None:
                command += ["--command-config", str(administrator), "--sign-in"]
            open_ones.enter_context(_running(command))
        if wanted.console is not None:
            check_console_installed()
            command = ["console", "--no-browser", "--bootstrap", servers]
            command += ["--listen", f"localhost:{wanted.console}"]
            environment = {}
            if wanted.registry:  # with a password, which arguments would show
                environment[_REGISTRY_VARIABLE] = _registry_url(wanted.registry, administrator)
            if administrator is not None:  # its file says how to connect; who signs in, users say
                command += ["--sign-in", "--command-config", str(administrator)]
            open_ones.enter_context(_running(command, environment))
        yield


def _registry_url(port: int, administrator: Path | None) -> str:
    if administrator is None:
        return f"http://localhost:{port}"
    settings = read_properties(administrator, "--command-config")
    user, password = (quote(settings[f"sasl.{each}"], safe="") for each in ("username", "password"))
    return f"http://{user}:{password}@localhost:{port}"


@contextmanager
def _running(command: list[str], environment: Mapping[str, str] | None = None) -> Iterator[None]:
    process = subprocess.Popen(  # noqa: S603 - made above
        [sys.executable, "-m", "barnabas.cli.server.supervised_command", *command],
        stdin=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
