"""The loggers of this process and their levels, for DescribeConfigs."""

import logging
from collections.abc import Iterator

_PACKAGE = "barnabas"
ROOT = "root"
_KAFKA_NAMES = {"WARNING": "WARN", "CRITICAL": "FATAL"}


def logger_levels() -> Iterator[tuple[str, str]]:
    """Name and level of each logger of the broker, in the words of Kafka."""
    yield ROOT, _level(logging.getLogger())
    for name in sorted(logging.root.manager.loggerDict):
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}."):
            yield name, _level(logging.getLogger(name))


def _level(logger: logging.Logger) -> str:
    name = logging.getLevelName(logger.getEffectiveLevel())
    return _KAFKA_NAMES.get(name, name)
