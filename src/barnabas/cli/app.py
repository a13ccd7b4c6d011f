"""The command `barnabas`: all its subcommands, and the options before them."""

import os
import sys
from typing import Annotated

import typer

from barnabas.cli.base.client_security import CommandConfig
from barnabas.cli.base.command import AsJson, Bootstrap, CommonOptions, Verbose
from barnabas.cli.base.exit_codes import EXPLANATION
from barnabas.cli.base.lazy_group import lazy_group

_COMMANDS = {
    "server": "barnabas.cli.server.command:server",
    "health": "barnabas.cli.server.health:health",
    "produce": "barnabas.cli.records.produce:produce",
    "consume": "barnabas.cli.records.consume:consume",
    "get": "barnabas.cli.records.get:get",
    "console": "barnabas.cli.console.command:console",
    "app": "barnabas.cli.application.commands:app",
    "queue": "barnabas.cli.queue.commands:app",
    "dead-letters": "barnabas.cli.dead_letters.commands:app",
    "cluster": "barnabas.cli.cluster.commands:app",
    "topics": "barnabas.cli.admin.topics:app",
    "groups": "barnabas.cli.admin.groups:app",
    "transactions": "barnabas.cli.admin.transactions:app",
    "configs": "barnabas.cli.admin.configs:app",
    "profile": "barnabas.cli.admin.profile:app",
    "users": "barnabas.cli.admin.users:app",
    "tokens": "barnabas.cli.admin.tokens:app",
    "acls": "barnabas.cli.admin.acls:app",
    "quotas": "barnabas.cli.admin.quotas:app",
    "security": "barnabas.cli.security.commands:app",
    "backup": "barnabas.cli.backup.commands:app",
    "log": "barnabas.cli.log.commands:app",
    "pipeline": "barnabas.cli.pipeline.commands.app:app",
    "connect": "barnabas.cli.connect.commands:app",
    "registry": "barnabas.cli.registry.command:registry",
    "schemas": "barnabas.cli.schemas.commands:app",
    "mirror": "barnabas.cli.mirror.commands:app",
}
"""In the order of `barnabas --help`."""

app = typer.Typer(
    name="barnabas",
    cls=lazy_group(_COMMANDS),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXPLANATION,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from barnabas import __version__

        typer.echo(f"barnabas {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    command_config: CommandConfig = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Run a Kafka-compatible message broker, and work with it or with any Kafka."""
    del version
    ctx.obj = CommonOptions(bootstrap, as_json, verbose, command_config)


def main() -> None:
    """Run the command line."""
    _fill_closed_streams()
    app()


def _fill_closed_streams() -> None:
    """Let no socket take the number of a standard stream that is closed, as with `>&-`.

    The lowest free number is taken, so they are filled in order.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
