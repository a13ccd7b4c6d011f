"""`barnabas pipeline rights`: options and arguments."""

import typer

from barnabas.cli.base.client_security import CommandConfig
from barnabas.cli.base.command import AsJson, Bootstrap, Verbose, common_options, exit_with
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights
from barnabas.cli.pipeline.arguments import (
    Definitions,
    Names,
    Version,
    chosen_of,
    cluster_of,
    with_spark,
)

EPILOG = """\b
Examples:
  barnabas pipeline rights pipelines/ --user alice
  barnabas pipeline rights pipelines/ shout --check --command-config alice.properties
"""


def rights(
    ctx: typer.Context,
    path: Definitions,
    names: Names = None,
    version: Version = None,
    user: RightsUser = None,
    check: RightsCheck = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    verbose: Verbose = False,
) -> None:
    """Print the access rules that pipelines need, as commands.

    Without --check, no broker is needed. Topics of a pattern, and those that `topic_per_row` names,
    are not known before a pipeline runs.
    """
    before = common_options(ctx)

    def call() -> int:
        from barnabas.spark.pipelines.operations.rights import rights_of

        cluster = cluster_of(bootstrap, command_config, before)
        found = [each for one in chosen_of(path, names, version) for each in rights_of(one)]
        return show_rights(
            found,
            RightsCluster(cluster.bootstrap_servers, cluster.security),
            user,
            check=check,
            as_json=as_json or before.as_json,
        )

    exit_with(with_spark(call), verbose=verbose or before.verbose)
