"""`barnabas app`: run the handlers of an application, and describe them."""

import typer

from barnabas.cli.application import docs, run

app = typer.Typer(no_args_is_help=True, help="Run the handlers of an application.")
app.command("run", epilog=run.EPILOG)(run.run)
app.command("docs", epilog=docs.EPILOG)(docs.docs)
