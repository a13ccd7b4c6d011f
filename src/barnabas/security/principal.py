"""Who sends a request."""

from typing import NamedTuple

USER = "User"


class Principal(NamedTuple):
    """A type and a name, written as `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "Principal":
        """Raises `ValueError` unless the text is `TYPE:NAME`."""
        kind, separator, name = text.partition(":")
        if not separator or not kind or not name:
            raise ValueError(f"{text!r} is not a principal; write it as User:NAME")
        return cls(kind, name)


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""A client of a listener where nobody signs in."""
