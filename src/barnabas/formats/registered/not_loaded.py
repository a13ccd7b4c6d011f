"""A schema that has to be asked for first: a format asks nobody itself, and so holds up no one."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class SchemaNotLoadedError(Exception):
    """Call `load`, which may block, and try again.

    `load` raises `RegistryUnreachable`, or another BarnabasError that says what is missing.
    """

    def __init__(self, load: Callable[[], object]) -> None:
        super().__init__("the schema has not been loaded")
        self.load = load


def loading(function: Callable[[], T]) -> T:
    """What the function returns, once all it needs is loaded. Blocks."""
    while True:
        try:
            return function()
        except SchemaNotLoadedError as needed:
            load = needed.load
        load()
