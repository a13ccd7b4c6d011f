"""The console that `server --console` brings along: a child process that ends with the server.

It listens on localhost. Where the cluster is secured, its users sign in.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.console_extra import check_console_installed
from barnabas.client.connect.address import parse_addresses

_DEFAULT = "localhost:9092"
_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - replaced here
_END_S = 10


def servers_of(properties: Mapping[str, str]) -> str:
    """Where this machine reaches a node with these settings. Raises `UsageError`."""
    named = properties.get("advertised.listeners") or properties.get("listeners") or _DEFAULT
    first = named.split(",")[0]
    (address,) = parse_addresses(first.partition("://")[2] or first)
    if not address.port:
        raise UsageError("--console needs to know the port: give --listen HOST:PORT, not port 0")
    host = "localhost" if address.host in _WILDCARDS else address.host
    return f"{host}:{address.port}"


@contextmanager
def with_console(
    servers: str | None, port: int | None, administrator: Path | None = None
) -> Iterator[None]:
    """Run a console of the servers, if it is to have a port, for as long as the block."""
    if servers is None or port is None:
        yield
        return
    check_console_installed()
    command = [sys.executable, "-m", "barnabas.cli.server.supervised_console"]
    command += ["console", "--no-browser", "--bootstrap", servers]
    command += ["--listen", f"localhost:{port}"]
    if administrator is not None:  # its file says how to connect; who signs in, users say
        command += ["--sign-in", "--command-config", str(administrator)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 - made above
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
