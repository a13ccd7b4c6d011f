"""The sockets that the broker listens on."""

import errno
import socket

from barnabas.broker.settings.config import ConfigError
from barnabas.wire.endpoint import Address

_BACKLOG = 1024


def bind(address: Address) -> list[socket.socket]:
    """Sockets for every address the host stands for, all on one port."""
    host = None if address.is_wildcard else address.host
    try:
        found = socket.getaddrinfo(
            host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise ConfigError(
            f"can't listen on {address}: {error.strerror}; give an address of this machine "
            "with --listen"
        ) from None
    sockets: list[socket.socket] = []
    port = address.port
    # IPv4 first: it is what `localhost` means to most clients, and it picks the free port.
    for family, kind, protocol, _, where in sorted(found, key=lambda row: row[0]):
        try:
            sockets.append(_bound(family, kind, protocol, (where[0], port)))
        except OSError as error:
            if sockets:
                continue  # one address family is enough
            if error.errno == errno.EADDRNOTAVAIL and family == socket.AF_INET:
                raise ConfigError(
                    f"can't listen on {address}: it is not an address of this machine"
                ) from None
            for bound in sockets:
                bound.close()
            raise ConfigError(_why(address, error)) from None
        port = sockets[0].getsockname()[1]
    return sockets


def _bound(family: int, kind: int, protocol: int, where: tuple[object, object]) -> socket.socket:
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(where)
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def _why(address: Address, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"can't listen on {address}: the port is in use. Another broker may be running; stop "
            "it, or choose another port with --listen HOST:PORT (port 0 takes a free one)"
        )
    if error.errno == errno.EACCES:
        return f"can't listen on {address}: not allowed; ports below 1024 need root"
    return f"can't listen on {address}: {error.strerror}"
