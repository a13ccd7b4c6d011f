"""`--log-format`: how commands that run on write their log."""

from enum import StrEnum


class LogFormat(StrEnum):
    """How lines about progress and failures are written."""

    TEXT = "text"
    JSON = "json"
