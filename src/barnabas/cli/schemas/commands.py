"""`barnabas schemas`: schemas of a registry, and changes of schema files."""

import typer

from barnabas.cli.schemas import check as check_command
from barnabas.cli.schemas import diff as diff_command
from barnabas.cli.schemas import subjects, transfer

app = typer.Typer(
    no_args_is_help=True,
    help="Manage the schemas of a registry, check schema files.",
)
app.command("list", epilog=subjects.LIST_EPILOG)(subjects.list_subjects)
app.command("show", epilog=subjects.SHOW_EPILOG)(subjects.show)
app.command("register", epilog=subjects.REGISTER_EPILOG)(subjects.register)
app.command("check", epilog=check_command.EPILOG)(check_command.check)
app.command("diff", epilog=diff_command.EPILOG)(diff_command.diff)
app.command("delete")(subjects.delete)
app.command("export", epilog=transfer.EPILOG)(transfer.export)
app.command("import")(transfer.import_)
