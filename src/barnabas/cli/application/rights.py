"""`barnabas app rights`."""

from typing import Annotated

import typer

from barnabas.cli.application.loading import load
from barnabas.cli.base.client_security import cluster_override
from barnabas.cli.base.command import CLUSTER, CommonOptions, command
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights

EPILOG = """\b
Examples:
  barnabas app rights orders:app --user billing
  barnabas app rights orders.py --check
  barnabas app rights orders:app --delays --user billing
  barnabas app rights orders:app --user billing --check --command-config admin.properties
"""


@command(*CLUSTER, "as_json")
def rights(
    common: CommonOptions,
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME", help="Application, as orders:app for orders.py, or the file."
        ),
    ],
    delays: Annotated[
        bool,
        typer.Option(
            "--delays",
            help="Also for records for later: to move those of topics with a handler, and to send "
            "to topics of App(sends=[...]).",
        ),
    ] = False,
    user: RightsUser = None,
    check: RightsCheck = False,
) -> int:
    """Print the access rules that an application needs, as commands.

    No broker is needed without --check, which asks the cluster that `app run` would use. Topics
    that only Outgoing(topic=...) and app.send name are known if the application lists them:
    App(sends=[...]).
    """
    from barnabas.app.rights import delay_rights_of, rights_of

    app = load(name)
    override = cluster_override(common.command_config, common.bootstrap)
    security = app.security if override.security is None else override.security
    cluster = RightsCluster(override.bootstrap or app.bootstrap_servers, security)
    handlers = app.handlers.values()
    found = rights_of(handlers, app.sends, app.schedules)
    if delays:
        found += delay_rights_of(handlers, app.sends)
    return show_rights(found, cluster, user, check=check, as_json=common.as_json)
