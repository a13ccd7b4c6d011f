"""`barnabas mirror`: copy topics of one cluster into another."""

import typer

from barnabas.cli.mirror import rights as rights_command
from barnabas.cli.mirror import run as run_command
from barnabas.cli.mirror.operations import add_operations

app = typer.Typer(no_args_is_help=True, help="Copy topics of one cluster into another.")
app.command("run", epilog=run_command.EPILOG)(run_command.run)
app.command("rights", epilog=rights_command.EPILOG)(rights_command.rights)
add_operations(app)


@app.callback()
def family() -> None:
    """Copy topics of one cluster into another."""
