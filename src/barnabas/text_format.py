"""The text format of the log: each message is one line.

Messages may contain text of clients: names, mechanisms, ids. Control characters in it are shown
escaped, so that a client can't forge further lines, or send codes to the terminal of a reader of
the log. A traceback still has several lines.
"""

import logging

_CONTROL = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _CONTROL}


class TextFormat(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as it is in logging
        return super().formatMessage(record).translate(_ESCAPES)
