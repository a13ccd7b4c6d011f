"""`barnabas queue rights`."""

from typing import Annotated

import typer

from barnabas.cli.base.client_security import ClientConfig
from barnabas.cli.base.command import CLUSTER, CommonOptions, UsageError, command
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights

EPILOG = """\b
Examples:
  barnabas queue rights pictures --group resizers --user worker
  barnabas queue rights pictures --results --user website
  barnabas queue rights scale --group scalers --results-of load --user worker
  barnabas queue rights pictures --group resizers --check --command-config worker.properties
"""


@command(*CLUSTER, "as_json")
def rights(
    common: CommonOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic of the jobs.")],
    group: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="Of the workers of this group. Without it: of those who put jobs.",
            show_default=False,
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Dead letters of the workers.", show_default=False),
    ] = None,
    results: Annotated[
        bool, typer.Option("--results", help="Also for results: submit() and its workers.")
    ] = False,
    results_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC",
            help="Also for results of jobs of this topic that are continued here; may be repeated.",
            show_default=False,
        ),
    ] = None,
    delays: Annotated[
        bool, typer.Option("--delays", help="Also for jobs for later: delay= and at=.")
    ] = False,
    user: RightsUser = None,
    check: RightsCheck = False,
) -> int:
    """Print the access rules that a queue needs, as commands.

    No broker is needed without --check.
    """
    from barnabas.client.share.queue_rights import submitter_rights, worker_rights

    if group is None:
        if dead_letters is not None:
            raise UsageError("--dead-letters is about workers: give their --group as well")
        if results_of:
            raise UsageError("--results-of is about workers: give their --group as well")
        found = submitter_rights(topic, delays=delays, results=results)
    else:
        found = worker_rights(
            topic,
            group,
            dead_letters=dead_letters,
            delays=delays,
            results=results,
            results_of=results_of or (),
        )
    config: ClientConfig = common.client_config()
    cluster = RightsCluster(config.bootstrap, config.security_settings)
    return show_rights(found, cluster, user, check=check, as_json=common.as_json)
