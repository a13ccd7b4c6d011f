"""The loggers of this process and their levels, in the words of Kafka.

A level that was changed holds until the node stops, as in Kafka. A logger without a level of its
own has that of the next one above it: `barnabas.broker.net` has that of `barnabas.broker`.
"""

import logging
from collections.abc import Iterator

_PACKAGE = "barnabas"
ROOT = "root"
LEVELS = {
    "TRACE": logging.DEBUG - 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}
_NAMES = {number: name for name, number in LEVELS.items()}


def level_name(number: int) -> str:
    return _NAMES.get(number) or logging.getLevelName(number)


def logger_names() -> Iterator[str]:
    """Those of the broker, and above them the root."""
    yield ROOT
    for name in sorted(logging.root.manager.loggerDict):
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}."):
            yield name


def logger_levels() -> Iterator[tuple[str, str]]:
    """Name and level of each logger of the broker."""
    for name in logger_names():
        yield name, level_name(_logger(name).getEffectiveLevel())


def set_level(name: str, level: str) -> None:
    """`level` is one of `LEVELS`."""
    _logger(name).setLevel(LEVELS[level])


def unset_level(name: str) -> None:
    """Let a logger have the level of the one above it."""
    _logger(name).setLevel(logging.NOTSET)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
