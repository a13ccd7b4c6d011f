"""`barnabas queue`: what queues of jobs need."""

import typer

from barnabas.cli.queue import rights as rights_command

app = typer.Typer(no_args_is_help=True, help="Print the access rules that queues of jobs need.")
app.command("rights", epilog=rights_command.EPILOG)(rights_command.rights)


@app.callback()
def family() -> None:
    """Print the access rules that queues of jobs need."""
