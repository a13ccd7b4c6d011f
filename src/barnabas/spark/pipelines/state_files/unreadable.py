"""Raised where only Spark can read a state."""

from barnabas.errors import BarnabasError


class UnreadableState(BarnabasError):  # noqa: N818 - its name says what is wrong
    """These files have a format that this reader does not support: Spark can read them."""
