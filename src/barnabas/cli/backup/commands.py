"""`barnabas backup`: copy a cluster into a folder or an object store, and restore it."""

import typer

from barnabas.cli.backup import create, key_file, maintenance, restore

app = typer.Typer(
    no_args_is_help=True, help="Copy a cluster into a folder or object store, and restore it."
)
app.command("create", epilog=create.EPILOG)(create.create)
app.command("show", epilog="Example: barnabas backup show /backups/orders")(maintenance.show)
app.command("verify", epilog="Example: barnabas backup verify /backups/orders")(maintenance.verify)
app.command("restore", epilog=restore.EPILOG)(restore.restore)
app.command("prune", epilog="Example: barnabas backup prune /backups/orders --keep 30")(
    maintenance.prune
)
app.command("keygen", epilog="Example: barnabas backup keygen ~/backup.key")(key_file.keygen)


@app.callback()
def family() -> None:
    """Copy a cluster into a folder or object store, and restore it."""
