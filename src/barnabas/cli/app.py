"""The command `barnabas`: all its subcommands, and the options before them."""

import os
import sys
from typing import Annotated

import typer

from barnabas.cli.admin import (
    acls,
    configs,
    groups,
    profile,
    quotas,
    tokens,
    topics,
    transactions,
    users,
)
from barnabas.cli.application import commands as application
from barnabas.cli.backup import commands as backup
from barnabas.cli.base.client_security import CommandConfig
from barnabas.cli.base.command import AsJson, Bootstrap, CommonOptions, Verbose
from barnabas.cli.base.exit_codes import EXPLANATION
from barnabas.cli.cluster import commands as cluster
from barnabas.cli.connect import commands as connect
from barnabas.cli.console import command as console
from barnabas.cli.dead_letters import commands as dead_letters
from barnabas.cli.log import commands as log
from barnabas.cli.mirror import commands as mirror
from barnabas.cli.pipeline.commands import app as pipeline
from barnabas.cli.records import consume, get, produce
from barnabas.cli.security import commands as security
from barnabas.cli.server import command as server
from barnabas.cli.server import health

app = typer.Typer(
    name="barnabas",
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


app.command("server", epilog=server.EPILOG)(server.server)
app.command("health", epilog=health.EPILOG)(health.health)
app.command("produce", epilog=produce.EPILOG)(produce.produce)
app.command("consume", epilog=consume.EPILOG)(consume.consume)
app.command("get", epilog=get.EPILOG)(get.get)
app.command("console", epilog=console.EPILOG)(console.console)
app.add_typer(application.app, name="app")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(cluster.app, name="cluster")
app.add_typer(topics.app, name="topics")
app.add_typer(groups.app, name="groups")
app.add_typer(transactions.app, name="transactions")
app.add_typer(configs.app, name="configs")
app.add_typer(profile.app, name="profile")
app.add_typer(users.app, name="users")
app.add_typer(tokens.app, name="tokens")
app.add_typer(acls.app, name="acls")
app.add_typer(quotas.app, name="quotas")
app.add_typer(security.app, name="security")
app.add_typer(backup.app, name="backup")
app.add_typer(log.app, name="log")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(connect.app, name="connect")
app.add_typer(mirror.app, name="mirror")


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
