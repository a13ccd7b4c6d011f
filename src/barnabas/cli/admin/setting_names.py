"""Names of settings on the command line, which may be mistyped."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.cli.base.command import UsageError
from barnabas.metadata.config_values import did_you_mean

if TYPE_CHECKING:
    from barnabas.client.admin.configs import ResourceType
    from barnabas.client.connect.cluster_client import ClusterClient


async def check_setting_names(
    cluster: "ClusterClient", resource_type: "ResourceType", name: str, settings: Iterable[str]
) -> None:
    """Raise `UsageError` if the topic or broker lacks one of the settings.

    A broker accepts any name of a setting to be put back to its default, as Kafka's do.
    """
    from barnabas.client.admin.configs import describe_configs

    described = await describe_configs(cluster, resource_type, [name])
    known = [entry.name for entry in described[name]]
    for setting in settings:
        if setting not in known:
            kind = resource_type.label
            hint = did_you_mean(setting, known)
            raise UsageError(f"{kind} {name} has no setting {setting!r}{hint}")
