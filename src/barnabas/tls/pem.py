"""Certificates and keys as text.

A setting has them in one line: with spaces, or with the two characters backslash and n, where the
file has line ends. Kafka accepts the same.
"""

import re
from collections.abc import Iterator

_BLOCK = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]+)-----\s+(?P<body>.*?)\s*-----END (?P=kind)-----", re.DOTALL
)
_LINE = 64


def with_line_ends(text: str) -> str:
    """The text as a PEM file has it; empty if there is no certificate and no key in it."""
    return "".join(blocks_of(text))


def blocks_of(text: str, kind: str | None = None) -> Iterator[str]:
    """Each block as a PEM file has it; with `kind`, only those such as `CERTIFICATE`."""
    text = text.replace("\\n", "\n")
    for block in _BLOCK.finditer(text):
        if kind is None or block["kind"] == kind:
            body = _body(block["body"])
            yield f"-----BEGIN {block['kind']}-----\n{body}\n-----END {block['kind']}-----\n"


def _body(text: str) -> str:
    if ":" in text:  # headers of an encrypted key in the traditional format: lines matter there
        return text
    digits = "".join(text.split())
    return "\n".join(digits[at : at + _LINE] for at in range(0, len(digits), _LINE))
