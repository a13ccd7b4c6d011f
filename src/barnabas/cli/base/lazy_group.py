"""Subcommands that are imported when they are called.

A command has a hundred siblings. Importing all of them and describing their options to the parser
takes longer than most commands, so only the one that is called is loaded, or all for the help of
their parent.
"""

import importlib
from collections.abc import Iterator, MutableMapping
from typing import Any

import typer
from typer.core import TyperGroup

Command = Any
"""What a parser calls; typer has no public name for it."""


class LazyCommands(MutableMapping[str, Command]):
    """Commands by name. Each is given as `module:name`: a `Typer` for a group, or a function, whose
    module has its `EPILOG`."""

    def __init__(self, places: dict[str, str]) -> None:
        self._commands: dict[str, Command] = dict(places)

    def __getitem__(self, name: str) -> Command:
        found = self._commands[name]
        if isinstance(found, str):
            self._commands[name] = found = _load(name, found)
        return found

    def __setitem__(self, name: str, command: Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


def _load(name: str, place: str) -> Command:
    module, _, attribute = place.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    parent = typer.Typer(rich_markup_mode=None, callback=lambda: None)
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        parent.command(name, epilog=importlib.import_module(module).EPILOG)(found)
    return typer.main.get_group(parent).commands[name]


def lazy_group(places: dict[str, str]) -> type[TyperGroup]:
    """The class of a group with these commands."""

    class LazyGroup(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**{**options, "commands": {}})
            self.commands = LazyCommands(places)

    return LazyGroup
