"""The first lines of a request: what is not clear is refused, as another server might read it
otherwise."""

from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

from barnabas.web.messages import HttpError

_WORDS = 3
_SHOWN = 100
_ONCE = frozenset(("authorization", "content-length", "host", "origin"))
"""Headers that decide who asks for what: they come once."""


class RequestHead(NamedTuple):
    """Method, target and headers, whose names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]


def parse_head(head: bytes) -> RequestHead:
    """Raises `HttpError`."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    is_request = len(words) == _WORDS and words[2].startswith("HTTP/1.")
    if not is_request or not words[1].startswith("/") or not _is_line(first):
        raise _wrong("not a request of HTTP/1.1", first)
    try:
        urlsplit(words[1])
    except ValueError:
        raise _wrong("not a path", words[1]) from None
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not name or name != name.strip() or not _is_line(line):
            raise _wrong("not a header", line)
        if name in headers and name in _ONCE:
            raise _wrong("twice", name)
        headers[name] = value.strip()
    if words[2] == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return RequestHead(words[0], words[1], headers)


def _is_line(text: str) -> bool:
    """Whether it has no control characters: a line feed alone ends a line for some servers."""
    return all(each >= " " or each == "\t" for each in text) and "\x7f" not in text


def _wrong(problem: str, text: str) -> HttpError:
    return HttpError(HTTPStatus.BAD_REQUEST, f"{problem}: {text[:_SHOWN]!r}")
