"""The log of an application: each line says which record it is about.

While a record is handled, everything that is logged has `handler`, `topic`, `partition` and
`offset` as attributes of the log record; while a schedule is called, `handler` and `pid`. So it is
with what the application logs, what a handler logs, and what libraries log that it calls. `barnabas
app run` writes them in its lines; elsewhere, add `RecordContext()` to a handler of the module
logging.
"""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from barnabas.records.message import Message
from barnabas.text_format import TextFormat

current_handler: ContextVar[str] = ContextVar("barnabas handler", default="")
current_message: ContextVar[Message | None] = ContextVar("barnabas message", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_PLACE = ("pid", "handler", "topic", "partition", "offset")


class RecordContext(logging.Filter):
    """Adds the record that is being handled to all that is logged meanwhile."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = current_message.get()
        if message is not None and not hasattr(record, "topic"):
            record.handler = current_handler.get()
            record.topic, record.partition, record.offset = message[:3]
        elif message is None and current_handler.get() and not hasattr(record, "handler"):
            record.handler = current_handler.get()  # a schedule
            record.pid = record.process
        return True


class JsonLines(logging.Formatter):
    """One object in each line, with all that was given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        told: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


class TextLines(TextFormat):
    """Lines for people, which end with the record that they are about."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as it is in logging
        place = " ".join(
            f"{name}={getattr(record, name)}" for name in _PLACE if hasattr(record, name)
        )
        line = super().formatMessage(record)
        return f"{line} [{place}]" if place else line


def set_up_log(*, as_json: bool) -> None:
    """Log to the error output from INFO on, unless the program has set up its log itself."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else TextLines())
    handler.addFilter(RecordContext())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
