"""`barnabas app`: run the handlers of an application, describe them, and see to their state."""

import typer

from barnabas.cli.application import docs, rights, run, state

app = typer.Typer(no_args_is_help=True, help="Run the handlers of an application.")
app.command("run", epilog=run.EPILOG)(run.run)
app.command("docs", epilog=docs.EPILOG)(docs.docs)
app.command("rights", epilog=rights.EPILOG)(rights.rights)
app.add_typer(state.app, name="state")
