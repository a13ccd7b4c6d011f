"""`barnabas app`: run the handlers of an application, describe them, and list their rights."""

import typer

from barnabas.cli.application import docs, rights, run

app = typer.Typer(no_args_is_help=True, help="Run the handlers of an application.")
app.command("run", epilog=run.EPILOG)(run.run)
app.command("docs", epilog=docs.EPILOG)(docs.docs)
app.command("rights", epilog=rights.EPILOG)(rights.rights)
