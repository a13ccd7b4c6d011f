"""`barnabas app rights`."""

from typing import Annotated

import typer

from barnabas.cli.application.loading import load
from barnabas.cli.base.client_security import ClientConfig, CommandConfig
from barnabas.cli.base.command import AsJson, Bootstrap, Verbose, common_options, exit_with
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights

EPILOG = """\b
Examples:
  barnabas app rights orders:app --user billing
  barnabas app rights orders.py --check
  barnabas app rights orders:app --user billing --check --command-config admin.properties
"""


def rights(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME", help="Application, as orders:app for orders.py, or the file."
        ),
    ],
    user: RightsUser = None,
    check: RightsCheck = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    verbose: Verbose = False,
) -> None:
    """Print the access rules that an application needs, as commands.

    No broker is needed without --check. Topics that only Outgoing(topic=...) and app.send name are
    known if the application lists them: App(sends=[...]).
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.app.rights import rights_of

        app = load(name)
        config = command_config or before.command_config
        security = app.security
        if config or (check and user):  # an administrator asks about somebody else
            security = ClientConfig(config, bootstrap="-").security_settings or app.security
        cluster = RightsCluster(bootstrap or before.bootstrap or app.bootstrap_servers, security)
        found = rights_of(app.handlers.values(), app.sends)
        as_object = as_json or before.as_json
        return show_rights(found, cluster, user, check=check, as_json=as_object)

    exit_with(call, verbose=verbose or before.verbose)
