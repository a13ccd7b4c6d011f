"""`barnabas connect rights`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CLUSTER, CommandError, CommonOptions, command
from barnabas.cli.base.rights import RightsCheck, RightsCluster, RightsUser, show_rights_in
from barnabas.cli.connect.config_file import config_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barnabas.client.rights.right import Right

EPILOG = """\b
Examples:
  barnabas connect rights --user connect                  # of the service
  barnabas connect rights invoices.json --user connect    # of a connector
  barnabas connect rights invoices.json --check --command-config connect.properties
"""

Group = Annotated[
    str,
    typer.Option(metavar="NAME", help="Group; one instance of a group runs, the others stand by."),
]
ConfigsTopic = Annotated[str, typer.Option(metavar="TOPIC", help="Topic of the connectors.")]
StatusTopic = Annotated[str, typer.Option(metavar="TOPIC", help="Topic of their states.")]
PipelinesFolder = Annotated[
    Path, typer.Option(metavar="DIR", help="Directory of pipeline.file and of relative paths.")
]


@command(*CLUSTER, "as_json")
def rights(
    common: CommonOptions,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Connector, as for `connect create`. Without it: the service itself.",
            show_default=False,
        ),
    ] = None,
    pipelines: PipelinesFolder = Path(),
    group: Group = "connect",
    configs_topic: ConfigsTopic = "connect-configs",
    status_topic: StatusTopic = "connect-status",
    user: RightsUser = None,
    check: RightsCheck = False,
) -> int:
    """Print the access rules that the service or a connector needs, as commands.

    No broker is needed without --check. Topics of a pattern, and those that rows name, are not
    known before a connector runs. Mirrors need rights in two clusters.
    """
    from barnabas.connect.rights import service_rights

    client = common.client_config()
    own = RightsCluster(client.bootstrap, client.security_settings)
    if file is None:
        needed = [(own, list(service_rights(group, configs_topic, status_topic)))]
    else:
        config = {"name": file.stem, **config_in(file)}
        texts = {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in config.items()
        }
        needed = _of_connector(texts, pipelines, own)
    return show_rights_in(needed, user, check=check, as_json=common.as_json)


def _of_connector(
    config: "Mapping[str, str]", folder: Path, own: RightsCluster
) -> "list[tuple[RightsCluster, list[Right]]]":
    from barnabas.connect.rights import connector_rights
    from barnabas.mirror.mirror_maker.connector_settings import flow_of
    from barnabas.mirror.rights import source_rights, target_rights
    from barnabas.spark.pipelines.connectors.mirrors import check_mirror, is_mirror
    from barnabas.spark.pipelines.connectors.pipeline_files import pipelines_of

    if not is_mirror(config):
        found = pipelines_of(config, folder, _start_spark)
        return [(own, connector_rights(config, found, folder))]
    errors = check_mirror(config)
    if errors:
        raise CommandError("; ".join(errors.messages()))
    mirrored = flow_of(config)
    return [
        (RightsCluster(end.bootstrap_servers, end.security, end.name), some)
        for end, some in (
            (mirrored.flow.source, source_rights(mirrored)),
            (mirrored.flow.target, target_rights(mirrored)),
        )
    ]


def _start_spark() -> object:
    """For definitions that need one."""
    from barnabas.spark import session

    return session("barnabas connect rights", "local[1]")
