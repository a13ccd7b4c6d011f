"""`barnabas log`: look inside the files of a broker, and repair them."""

import typer

from barnabas.cli.log import dump, repair

app = typer.Typer(no_args_is_help=True, help="Look inside the files of a broker, and repair them.")


@app.callback()
def log() -> None:
    """Look inside the files of a broker, and repair them."""


app.command("repair", epilog=repair.EPILOG)(repair.repair)
app.command("dump", epilog=dump.EPILOG)(dump.dump)
