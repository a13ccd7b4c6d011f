"""`barnabas app state`: read the state of handlers, and build it again."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.app.state.keys import KeyFormat, key_of, text_of
from barnabas.cli.application.stateful import StatefulHandler, stateful_app, stateful_handler
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLUSTER, CommandError, CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.formats.typed import name_of
from barnabas.quantities import counted

if TYPE_CHECKING:
    from barnabas.app.app import App

app = typer.Typer(no_args_is_help=True, help="Look at the state of handlers, and rebuild it.")
_LIST = """\b
Examples:
  barnabas app state list orders:app
  barnabas app state list orders:app count --limit 10
  barnabas app state list orders:app count --json
"""
_GET = """\b
Examples:
  barnabas app state get orders:app count ada
  barnabas app state get orders:app count 17 --key-format int
"""
_REBUILD = """\b
Examples:
  barnabas app state rebuild orders:app count
  barnabas app state rebuild orders:app count --partial --yes
  barnabas app state rebuild orders:app count --empty
"""
AppName = Annotated[
    str,
    typer.Argument(
        metavar="MODULE:NAME", help="Application, as orders:app for orders.py, or the file."
    ),
]
KeyOption = Annotated[
    KeyFormat, typer.Option("--key-format", metavar="NAME", help="Format of keys: str, int or hex.")
]
HandlerName = Annotated[str, typer.Argument(metavar="HANDLER", help="Handler with a State.")]


@command(*CLUSTER, "as_json")
def list_states(
    common: CommonOptions,
    name: AppName,
    handler: Annotated[
        str | None, typer.Argument(metavar="HANDLER", help="Handler whose keys are listed.")
    ] = None,
    key_format: KeyOption = KeyFormat.STR,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many keys.")] = None,
) -> int | None:
    """List the handlers that have a state, or the keys and values of one.

    Values are those that are committed now, read from the changelog. The application may run.
    """
    from barnabas.cli.base.runner import run_async

    if handler is None:
        _print_handlers(stateful_app(name, common), as_json=common.as_json)
        return None
    found = stateful_handler(name, handler, common)
    return run_async(_list(found, key_format, limit, as_json=common.as_json))


def _print_handlers(app: "App", *, as_json: bool) -> None:
    rows = [
        {"handler": each.name, "state": each.state.name, "type": name_of(each.state.kind)}
        | {"source": each.topics[0], "changelog": each.changelog}
        for each in app.handlers.values()
        if each.state is not None
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["handler", "state", "type", "source", "changelog"], [[*each.values()] for each in rows]
        )


async def _list(
    found: StatefulHandler, key_format: KeyFormat, limit: int | None, *, as_json: bool
) -> None:
    left = limit
    async with found.app.state_reader(found.handler) as reader:
        async for row in reader.rows():
            key, value = text_of(row.key, key_format), found.declared.json_of(row).decode()
            print_line(
                f'{{"key":{json.dumps(key)},"value":{value}}}' if as_json else f"{key}\t{value}"
            )
            left = None if left is None else left - 1
            if left == 0:
                return


@command(*CLUSTER)
def get(
    common: CommonOptions,
    name: AppName,
    handler: HandlerName,
    key: Annotated[str, typer.Argument(help="Key.")],
    key_format: KeyOption = KeyFormat.STR,
) -> int | None:
    """Print the value that a handler keeps for a key, as JSON.

    It is the value that is committed now, read from the changelog. If there is none, nothing is
    printed and the exit code is 1.
    """
    from barnabas.cli.base.runner import run_async

    return run_async(_get(stateful_handler(name, handler, common), key, key_format))


async def _get(found: StatefulHandler, key: str, key_format: KeyFormat) -> int:
    async with found.app.state_reader(found.handler) as reader:
        row = await reader.get(key_of(key, key_format))
    if row is None:
        say(f"{found.handler.name} has no value for key {key}")
        return exit_codes.FAILURE
    print_line(found.declared.json_of(row).decode())
    return exit_codes.OK


@command(*CLUSTER)
def rebuild(
    common: CommonOptions,
    name: AppName,
    handler: HandlerName,
    partial: Annotated[
        bool, typer.Option("--partial", help="Go on if the source lacks its first records.")
    ] = False,
    empty: Annotated[
        bool, typer.Option("--empty", help="Begin with no state, and handle nothing again.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> int | None:
    """Build the state of a handler again, from the records of its source topic.

    Stop the application first. The changelog is deleted, and the group goes back to the beginning
    of the source: after the next start the handler handles all records again, with their results.
    """
    from barnabas.cli.base.runner import run_async

    if partial and empty:
        raise UsageError("--partial and --empty: with --empty no record is handled again")
    found = stateful_handler(name, handler, common)
    return run_async(_empty(found, yes=yes) if empty else _rebuild(found, yes=yes, partial=partial))


async def _rebuild(found: StatefulHandler, *, yes: bool, partial: bool) -> None:
    from barnabas.app.state import rebuild as steps

    names = found.handler.changelog_names
    async with found.admin() as admin:
        plan = await steps.plan_rebuild(admin, names)
        if plan.gaps and not partial:
            raise CommandError(
                f"{'; '.join(plan.gaps)}: the state would lack what came from records that are "
                "gone. To build it from those that are left, add --partial"
            )
        produces = found.handler.produces
        results = f", and their results are sent to {produces} again" if produces else ""
        say(f"This deletes {names.topic}.")
        say(f"{counted(plan.offsets, 'record')} of {names.source} are handled again{results}.")
        if not yes:
            typer.confirm("Continue?", abort=True, err=True)
        await found.fence()
        await steps.rebuild(admin, names)
    say(f"start the application: {names.handler} handles {names.source} from the beginning")


async def _empty(found: StatefulHandler, *, yes: bool) -> None:
    from barnabas.app.state import rebuild as steps

    names = found.handler.changelog_names
    async with found.admin() as admin:
        say(f"This deletes {names.topic}, and with it the state of all keys.")
        if not yes:
            typer.confirm("Continue?", abort=True, err=True)
        await found.fence()
        await steps.empty(admin, names)
    say(f"start the application: {names.handler} begins with no state, where its group is")


app.command("list", epilog=_LIST)(list_states)
app.command("get", epilog=_GET)(get)
app.command("rebuild", epilog=_REBUILD)(rebuild)
