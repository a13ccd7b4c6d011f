"""The log as JSON: one object in each line, for programs that collect logs.

A message of the request log has its fields under `request` as well, as numbers.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from barnabas.broker.logs.logger_levels import level_name

REQUEST = "request"
"""The attribute of a log record that holds the fields of a request."""


class JsonFormat(logging.Formatter):
    def __init__(self, node_id: int) -> None:
        super().__init__()
        self._node_id = node_id

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        told: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": level_name(record.levelno),
            "logger": record.name,
            "node": self._node_id,
            "message": record.getMessage(),
        }
        if hasattr(record, REQUEST):
            told[REQUEST] = getattr(record, REQUEST)
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told)
