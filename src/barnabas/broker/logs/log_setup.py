"""Sends the log where the settings ask for it, in the format that they ask for."""

import logging
from pathlib import Path

from barnabas.broker.logs.json_format import JsonFormat
from barnabas.broker.logs.log_file import open_log_file
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.text_format import TextFormat


def set_up_log(config: BrokerConfig) -> None:
    """Raises `ConfigError` if the file can't be opened."""
    settings = config.monitoring
    handler: logging.Handler = logging.StreamHandler()
    if settings.log_file:
        path = Path(settings.log_file)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handler = open_log_file(
                str(path), settings.log_file_max_bytes, settings.log_file_max_count
            )
        except OSError as error:
            raise ConfigError(f"log.file={path}: {error.strerror}; choose another file") from None
    is_json = settings.log_format == "json"
    handler.setFormatter(JsonFormat(config.node.node_id) if is_json else TextFormat())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
