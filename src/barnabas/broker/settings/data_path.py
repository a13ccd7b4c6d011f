"""The data directory that the settings name."""

from pathlib import Path

from barnabas.broker.settings.config import BrokerConfig, ConfigError


def data_path(config: BrokerConfig) -> str:
    """Raises `ConfigError`: Kafka takes several directories, a node has one."""
    path = config.node.log_dirs
    if not path or "," in path:
        raise ConfigError(
            f"log.dirs={path}: give one directory; several are not supported. To use several "
            "disks, run one node for each, or join them with RAID or LVM"
        )
    return str(Path(path).absolute())
