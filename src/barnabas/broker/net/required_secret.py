"""Which nodes need a cluster secret before they listen: those that ask who their clients are.

Without a secret, nodes prove themselves by the cluster id, which clients know. On an open cluster
that gives a client little that it does not have already. Where clients sign in, show certificates
or have rules, it would give them everything.
"""

from random import Random

from barnabas.broker.net.cluster_secret import (
    NEW_BYTES,
    SETTING,
    new_secret,
    secret_path,
    write_secret,
)
from barnabas.broker.net.listener import listeners_of
from barnabas.broker.settings.component_settings import TlsSettings
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.log import Disk


def why_secret_is_required(config: BrokerConfig) -> str | None:
    """The setting that asks who clients are; None on an open cluster."""
    if config.authorizer.class_name:
        return "authorizer.class.name is set"
    for listener in listeners_of(config).values():
        if listener.protocol.has_sasl:
            return f"clients sign in on listener {listener.name}"
        if listener.protocol.has_tls and listener.settings(TlsSettings).client_auth != "none":
            return f"ssl.client.auth is set for listener {listener.name}"
    return None


def check_shared_secret(config: BrokerConfig, secret: bytes | None, *, is_alone: bool) -> None:
    """Raise `ConfigError` if the nodes need a secret and have none."""
    why = why_secret_is_required(config)
    if secret is None and why is not None and not is_alone:
        raise ConfigError(
            f"{why}, but the nodes share no secret: any client could pass for a node. Give every "
            f"node the same {SETTING}, see docs/cluster.md"
        )


def ensure_required_secret(
    config: BrokerConfig,
    directory: str,
    disk: Disk,
    random: Random,
    secret: bytes | None,
    *,
    is_alone: bool,
) -> bytes | None:
    """The secret that a node listens with; a node that is a cluster by itself makes its own.

    None on an open cluster without a secret. Raises `ConfigError`.
    """
    why = why_secret_is_required(config)
    if secret is not None or why is None:
        return secret
    check_shared_secret(config, secret, is_alone=is_alone)
    path = secret_path(directory)
    secret = new_secret(random.randbytes(NEW_BYTES))
    try:
        write_secret(disk, path, secret)
    except OSError as error:
        raise ConfigError(
            f"{why}, so this node needs a cluster secret, and can't write {path}: "
            f"{error.strerror}; allow it, or set {SETTING}"
        ) from error
    return secret
