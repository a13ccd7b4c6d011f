"""What a start would refuse, for `barnabas server --check`: settings, and the files that they name.

Nothing is changed, and neither ports nor the lock of the data directory are looked at: a file is
checked beside the node that runs with it, too.
"""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from barnabas.broker.control.initial_users import load_initial_users
from barnabas.broker.monitoring.metrics_listener import metrics_address
from barnabas.broker.net.cluster_secret import load_secret
from barnabas.broker.net.listener import listeners_of
from barnabas.broker.net.listener_tls import open_tls
from barnabas.broker.net.required_secret import check_shared_secret
from barnabas.broker.net.sign_in.listener_sasl import check_sasl
from barnabas.broker.quorum.configured_voters import configured_voters, parse_voters
from barnabas.broker.settings.config import BrokerConfig, ConfigError, together
from barnabas.broker.settings.data_path import data_path
from barnabas.log import DirectoryMismatch, OsDisk
from barnabas.log.directory.data_directory import cluster_in


def check_start(config: BrokerConfig, *, has_secret: bool = True) -> None:
    """Raises `ConfigError`, with all that is wrong. Without `has_secret`, a start makes it."""
    checks: tuple[Callable[[BrokerConfig], object], ...] = (
        _check_log_file,
        configured_voters,
        _check_sasl,
        open_tls,
        _check_metrics,
        _check_data,
        *((_check_secret,) if has_secret else ()),
    )
    wrong = []
    for check in checks:
        try:
            check(config)
        except ConfigError as error:
            wrong.append(str(error))
    if wrong:
        raise ConfigError(together(wrong))


def _check_log_file(config: BrokerConfig) -> None:
    name = config.monitoring.log_file
    if not name:
        return
    why = "Is a directory" if Path(name).is_dir() else _why_no_folder(Path(name).absolute().parent)
    if why is not None:
        raise ConfigError(f"log.file={name}: {why}; choose another file")


def _check_sasl(config: BrokerConfig) -> None:
    check_sasl(listeners_of(config).values())


def _check_metrics(config: BrokerConfig) -> None:
    given = config.monitoring.metrics_listeners
    if given:
        metrics_address(given)


def _check_data(config: BrokerConfig) -> None:
    """The directory, and the users that a new one begins with."""
    disk = OsDisk()
    path = data_path(config)
    why = _why_no_folder(Path(path))
    if why is not None:
        raise ConfigError(f"cannot use {path} as data directory: {why}")
    try:
        cluster_id = cluster_in(disk, path, config.node.node_id)
    except (DirectoryMismatch, OSError) as error:
        raise ConfigError(str(error)) from None
    load_initial_users(disk, config, cluster_id, Random(0))  # noqa: S311 - they are thrown away


def _check_secret(config: BrokerConfig) -> None:
    secret = load_secret(OsDisk(), config, config.node.log_dirs)
    node_id = config.node.node_id
    is_alone = all(each.id == node_id for each in parse_voters(config.node.quorum_voters))
    check_shared_secret(config, secret, is_alone=is_alone)


def _why_no_folder(path: Path) -> str | None:
    """Why files can't be made in this folder, which need not exist yet."""
    while not path.exists() and path != path.parent:
        path = path.parent
    if not path.is_dir():
        return f"{path} is not a directory"
    if not os.access(path, os.W_OK | os.X_OK):
        return f"no permission to write in {path}"
    return None
