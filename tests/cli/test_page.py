"""docs/cli.md names every command, and no option that does not exist."""

import re
from collections.abc import Iterator

import typer.main

from barnabas.cli.app import app
from tests.examples.documents import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text()
_NOT_OURS = {
    "--help",
    "--install-completion",  # typer's, as the next one
    "--show-completion",
}


def commands() -> Iterator[tuple[str, set[str]]]:
    """Each command with its options."""

    def below(path: str, command: object) -> Iterator[tuple[str, set[str]]]:
        if getattr(command, "hidden", False):
            return
        inner = getattr(command, "commands", None)
        if inner:
            for name, each in inner.items():
                yield from below(f"{path} {name}".strip(), each)
            return
        options = {
            option
            for parameter in command.params  # type: ignore[attr-defined]
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        yield path, options

    yield from below("", typer.main.get_command(app))


def test_every_command_is_on_the_page() -> None:
    missing = [name for name, _ in commands() if not re.search(rf"\b{name}\b", PAGE)]
    assert missing == []


def test_every_option_on_the_page_exists() -> None:
    known = set().union(*(options for _, options in commands()), _NOT_OURS)
    known |= {option for each in typer.main.get_command(app).params for option in each.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert sorted(named - known) == []
