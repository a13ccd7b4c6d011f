"""The secret that the nodes of a cluster share, and clients do not know.

`cluster.secret.file` names the file; its content is the same on every node. Without that setting it
is the file `cluster.secret` in the data directory. A node that is a cluster by itself creates that
file when it starts. A node that joins such a cluster later needs a copy.

While the secret is changed, the file has two lines: the secret that this node uses, and another
that it accepts. Nodes read the file again when it has changed.
"""

from base64 import urlsafe_b64encode

from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.log import Disk

SECRET_FILE = "cluster.secret"  # noqa: S105 - its name
SETTING = "cluster.secret.file"
_MIN_BYTES = 16
_MAX_LINES = 2
NEW_BYTES = 32


def load_secret(disk: Disk, config: BrokerConfig, directory: str) -> bytes | None:
    """The secret, if there is one; two, in lines, while it is changed. Raises `ConfigError`.

    `directory` is the data directory.
    """
    path = config.node.cluster_secret_file
    is_optional = path is None
    if path is None:
        path = secret_path(directory)
    try:
        if is_optional and not disk.exists(path):
            return None
        found = disk.read_file(path).splitlines()
    except OSError as error:
        raise ConfigError(
            f"{SETTING}={path}: {error.strerror}; create one with `openssl rand -base64 32`, or "
            "copy it from another node"
        ) from error
    lines = [line.strip() for line in found if line.strip()]
    shortest = min(map(len, lines), default=0)
    if shortest < _MIN_BYTES:
        raise ConfigError(
            f"{path} holds {shortest} bytes: a cluster secret has at least {_MIN_BYTES}; make "
            "one with `openssl rand -base64 32`"
        )
    if len(lines) > _MAX_LINES:
        raise ConfigError(
            f"{path} has {len(lines)} lines: a cluster has one secret, or two while it is changed"
        )
    return b"\n".join(lines)


def secret_path(directory: str) -> str:
    return f"{directory}/{SECRET_FILE}"


def new_secret(randomness: bytes) -> bytes:
    """A secret in the form that the file has, made from random bytes."""
    return urlsafe_b64encode(randomness)


def write_secret(disk: Disk, path: str, secret: bytes) -> None:
    """Write the secret to a file that only its owner can read. Raises OSError."""
    disk.replace_file(path, secret + b"\n", sync=True, private=True)
