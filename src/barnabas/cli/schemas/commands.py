"""`barnabas schemas`: schemas of a registry."""

import typer

from barnabas.cli.schemas import subjects, transfer

app = typer.Typer(
    no_args_is_help=True,
    help="Manage the schemas of a registry.",
)
app.command("list", epilog=subjects.LIST_EPILOG)(subjects.list_subjects)
app.command("show", epilog=subjects.SHOW_EPILOG)(subjects.show)
app.command("register", epilog=subjects.REGISTER_EPILOG)(subjects.register)
app.command("delete")(subjects.delete)
app.command("export", epilog=transfer.EPILOG)(transfer.export)
app.command("import")(transfer.import_)
