"""`barnabas pipeline rights`: options and arguments."""

from barnabas.cli.base.command import CLUSTER, CommonOptions, command
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights
from barnabas.cli.pipeline.arguments import (
    Definitions,
    Names,
    Version,
    chosen_of,
    cluster_of,
)

EPILOG = """\b
Examples:
  barnabas pipeline rights pipelines/ --user alice
  barnabas pipeline rights pipelines/ shout --check --command-config alice.properties
"""


@command(*CLUSTER, "as_json")
def rights(
    common: CommonOptions,
    path: Definitions,
    names: Names = None,
    version: Version = None,
    user: RightsUser = None,
    check: RightsCheck = False,
) -> int:
    """Print the access rules that pipelines need, as commands.

    Without --check, no broker is needed. Topics of a pattern, and those that `topic_per_row` names,
    are not known before a pipeline runs.
    """
    from barnabas.spark.pipelines.operations.rights import rights_of

    cluster = cluster_of(common)
    found = [each for one in chosen_of(path, names, version) for each in rights_of(one)]
    return show_rights(
        found,
        RightsCluster(cluster.bootstrap_servers, cluster.security),
        user,
        check=check,
        as_json=common.as_json,
    )
