"""`barnabas log`: inspect and repair the log files of a broker."""

import typer

from barnabas.cli.log import dump, repair

app = typer.Typer(no_args_is_help=True, help="Inspect and repair the log files of a broker.")


@app.callback()
def log() -> None:
    """Inspect and repair the log files of a broker."""


app.command("repair", epilog=repair.EPILOG)(repair.repair)
app.command("dump", epilog=dump.EPILOG)(dump.dump)
